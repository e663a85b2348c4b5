/** The same parts however the body is cut into chunks, compared with a reading of the whole text by other means. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { delimiterPaddingMax } from "./multipart-delimiter.ts";
import { createMultipartHash, partHeaderBytesMax, readMultipart } from "./multipart.ts";
import type { MultipartReading } from "../contract/message.ts";
import { lengthPrefixed, sha256Hex } from "./sha256.ts";

const type = { essence: "multipart/mixed", boundary: "B" };

function inChunks(body: Buffer, cuts: readonly number[]): MultipartReading {
  const hash = createMultipartHash(type);
  const places = [...new Set(cuts.map((cut) => cut % (body.length + 1)))].toSorted((a, b) => a - b);
  let start = 0;
  for (const place of [...places, body.length]) {
    hash.update(body.subarray(start, place));
    start = place;
  }
  return hash.read();
}

/** By regular expressions over the whole text; none of the headers that these tests send counts. */
function oracle(body: string): MultipartReading {
  const delimiter = /\r\n--B(?:(--)[ \t]*(?:\r\n|$(?![^]))|[ \t]*\r\n)/;
  let rest = `\r\n${body}`;
  const texts: string[] = [];
  let match = delimiter.exec(rest);
  if (match === null || rest.slice(0, match.index).includes("\r\n--B")) return { kind: "malformed" };
  while (match[1] === undefined) {
    rest = rest.slice(match.index + match[0].length);
    match = delimiter.exec(rest);
    const part = match === null ? undefined : rest.slice(0, match.index);
    const split = part === undefined ? undefined : /^(?:([^]*?)\r\n)??\r\n([^]*)$/.exec(part);
    const shown = match === null ? /^(?:([^]*?)\r\n)??\r\n/.exec(rest) : split;
    const lines = (shown?.[1] ?? "").split("\r\n");
    const names = lines.filter((line) => line !== "").map((line) => /^([!#$%&'*+\-.^_`|~\w]*):/.exec(line)?.[1]);
    if (match !== null && split === null) return { kind: "malformed" };
    if (new Set(names).size < names.length || names.some((name) => (name ?? "") === "")) return { kind: "malformed" };
    if (match === null) return { kind: "truncated" };
    const content = sha256Hex(Buffer.from(split?.[2] ?? "", "latin1"));
    texts.push(lengthPrefixed(["", undefined, undefined, undefined, "", content]));
  }
  const epilogue = rest.slice(match.index + match[0].trimEnd().length);
  return epilogue.includes("\r\n--B") ? { kind: "malformed" } : { kind: "parts", text: lengthPrefixed(texts) };
}

const cuts = fc.array(fc.nat(), { maxLength: 40 });
const pieces = [
  "\r\n--B\r\n",
  "\r\n--B--",
  "\r\n--B",
  "--B",
  "\r\n\r\n",
  "\r\n",
  "\r",
  "\n",
  "-",
  "--",
  " ",
  "\t",
  "B",
  "x",
];
const soup = fc.string({ unit: fc.constantFrom(...pieces, "n: v\r\n"), maxLength: 30 });
const content = fc.string({ unit: fc.constantFrom(...pieces.slice(2), "\r\n--BX", "\r\n--B x"), maxLength: 20 });

describe("createMultipartHash", () => {
  it("A28 reads any mixture of delimiters, look-alikes and line ends as the whole text is read, in any chunks", () => {
    let parts = 0;
    fc.assert(
      fc.property(soup, fc.boolean(), cuts, (text, begins, places) => {
        const body = begins ? `--B\r\n${text}` : text;
        const expected = oracle(body);
        if (expected.kind === "parts" && expected.text !== "") parts += 1;
        const read = inChunks(Buffer.from(body, "latin1"), places);
        // Of a body without an end it matters only that it is none.
        if (expected.kind === "parts" || read.kind === "parts") expect(read).toEqual(expected);
        expect(readMultipart(Buffer.from(body, "latin1"), type)).toEqual(read);
      }),
      { numRuns: 20_000 },
    );
    expect(parts).toBeGreaterThan(50);
  });

  it("A28 finds every part with its content, whatever stands before, behind and in it", () => {
    fc.assert(
      fc.property(fc.array(content, { maxLength: 5 }), content, content, cuts, (contents, before, behind, places) => {
        const sound = contents.filter((each) => !/\r\n--B(?:--)?[ \t]*(?:\r\n|$)/.test(`\r\n\r\n${each}\r\n--`));
        const body = [before, ...sound.map((each) => `\r\n--B\r\nn: v\r\n\r\n${each}`), "\r\n--B--\r\n", behind].join(
          "",
        );
        fc.pre(!`\r\n${before}`.includes("\r\n--B") && !`\r\n${behind}`.includes("\r\n--B"));
        const texts = sound.map((each) =>
          lengthPrefixed(["", undefined, undefined, undefined, "", sha256Hex(Buffer.from(each, "latin1"))]),
        );
        expect(inChunks(Buffer.from(body, "latin1"), places)).toEqual({ kind: "parts", text: lengthPrefixed(texts) });
      }),
      { numRuns: 3000 },
    );
  });

  it("A28 says of every body that is cut short that it is, wherever it is cut", () => {
    const whole = Buffer.from("--B\r\nn: v\r\n\r\nabc\r\n--B\r\n\r\nx\r\n--B--\r\n", "latin1");
    const end = whole.lastIndexOf("--B--") + "--B--".length;
    for (let length = "--B\r\n".length; length < whole.length; length += 1) {
      // The last line needs its line break only where something follows.
      const complete = length === end || length > end + 1;
      const expected = complete ? "parts" : "truncated";
      expect(inChunks(whole.subarray(0, length), [7, 20, 33]).kind, `first ${length} bytes`).toBe(expected);
    }
  });

  it("gives up on endless headers and endless padding, byte by byte as well as in one piece", () => {
    const every = Array.from({ length: 40_000 }, (_, index) => index);
    for (const body of [
      `--B\r\nX: ${"y".repeat(partHeaderBytesMax)}`,
      `--B\r\nX: ${"y".repeat(partHeaderBytesMax)}\r\n\r\n1\r\n--B--`,
      `--B${" ".repeat(delimiterPaddingMax + 1)}\r\n\r\n1\r\n--B--`,
      `--B\r\n\r\n1\r\n--B--${"\t".repeat(delimiterPaddingMax + 1)}`,
    ]) {
      expect(inChunks(Buffer.from(body), [])).toEqual({ kind: "malformed" });
      expect(inChunks(Buffer.from(body), every)).toEqual({ kind: "malformed" });
    }
  });

  it("keeps the content of the field that was asked for, each time it comes, and not more than a key may have", () => {
    const part = (name: string, text: string): string =>
      `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
    const body = Buffer.from(
      `${part("é", "one\r\n--BX")}${part("other", "x")}--B\r\n\r\nnameless\r\n${part("é", "y".repeat(5_000))}--B--`,
    );
    for (const size of [1, 7, 100_000]) {
      const asked = createMultipartHash(type, "é");
      const plain = createMultipartHash(type);
      for (let start = 0; start < body.length; start += size) {
        asked.update(body.subarray(start, start + size));
        plain.update(body.subarray(start, start + size));
      }
      expect(asked.read()).toEqual(plain.read());
      expect(asked.kept.map(String)).toEqual(["one\r\n--BX", "y".repeat(1024)]);
      expect(plain.kept).toEqual([]);
    }
  });
});

/** Bytes that are copied or searched, by the functions of `Buffer` that do it. */
function bytesHandled(work: () => void): number {
  const concat = Buffer.concat.bind(Buffer);
  const prototype = Buffer.prototype as unknown as Record<"indexOf", (...values: unknown[]) => number>;
  const { indexOf } = prototype;
  let handled = 0;
  Buffer.concat = (list, length) => {
    const made = concat(list, length);
    handled += made.length;
    return made;
  };
  prototype.indexOf = function (this: Buffer, ...values: unknown[]) {
    const found = indexOf.apply(this, values);
    const from = typeof values[1] === "number" ? values[1] : 0;
    handled += (found < 0 ? this.length : found) - from;
    return found;
  };
  try {
    work();
  } finally {
    Buffer.concat = concat;
    prototype.indexOf = indexOf;
  }
  return handled;
}

describe("work", () => {
  const header = (fill: string): string => `--B\r\nX: ${fill.repeat(16_000 / fill.length)}`;
  const bodies: Readonly<Record<string, string>> = {
    "a header of nothing but CR": header("\r"),
    "a header of beginnings of a delimiter": header("\r\n--"),
    "many parts with long headers": `${header("x")}\r\n\r\ncontent\r\n`.repeat(20),
    "many small parts": "--B\r\nX: 1\r\n\r\n1\r\n".repeat(900),
    "a long preamble": "\r\n".repeat(20_000),
    "long content": `--B\r\nX: 1\r\n\r\n${"\r\n--A".repeat(20_000)}`,
    padding: `--B\r\nX: 1\r\n\r\n${`\r\n--B${" ".repeat(1_000)}x`.repeat(60)}`,
  };
  for (const [name, text] of Object.entries(bodies)) {
    it(`is linear in the bytes, however small the chunks are: ${name}`, () => {
      const body = Buffer.from(text, "latin1");
      for (const size of [1, 2, 3, 17, 256, 1_000, 4_096, 16_383, 16_384, 65_536]) {
        const handled = bytesHandled(() => {
          const hash = createMultipartHash(type);
          for (let start = 0; start < body.length; start += size) hash.update(body.subarray(start, start + size));
          hash.read();
        });
        expect(handled, `in chunks of ${size}`).toBeLessThan(8 * body.length + 4_096);
      }
    });
  }
});
