/**
 * Multipart bodies in chunks of every size: one reading whatever the chunks, the same parts under another boundary, and
 * never one reading for two bodies that busboy, which most handlers read uploads with, reads differently.
 */
import busboy from "busboy";
import {
  createMultipartHash,
  partHeaderBytesMax,
  readMultipart,
} from "../../packages/ichido/src/core/request/multipart.ts";
import type { MultipartReading } from "../../packages/ichido/src/core/contract/message.ts";
import { chunksOf, flipBit, inheritedNames, listOf, textOf } from "./draw.ts";
import { must, type Random, type Target } from "./target.ts";

const essence = "multipart/form-data";

interface Part {
  readonly headers: readonly string[];
  readonly content: Buffer;
}

const contents = ["a", "b", "\r", "\n", "\r\n", "--", "--B", "\r\n--B", "\r\n--Bx", "\r\n--B --", "é", "\0", "\xff"];
const names = ["a", "b", "file", "é", "a b", "", "a\\", "items[]", ...inheritedNames];

function quotedName(random: Random): string {
  const name = random.pick(names);
  return random.chance(0.1) && /^\w+$/.test(name) ? name : `"${name.replaceAll("\\", "\\\\")}"`;
}

function drawHeaders(random: Random): string[] {
  const name = random.chance(0.95) ? `;${random.pick(["", " ", "  "])}name=${quotedName(random)}` : "";
  const file = random.chance(0.3)
    ? `; filename="${random.pick(["x.txt", "é.png", "../x", 'a\\"b', "", "C:\\\\x"])}"`
    : "";
  const extended = random.chance(0.05) ? `; filename*=${random.pick(["utf-8''x%20y", "bad", "iso-8859-1''%e9"])}` : "";
  const lines = [
    `${random.pick(["Content-Disposition", "content-disposition"])}: ${random.pick(["form-data", "form-data", "attachment"])}${name}${file}${extended}`,
  ];
  if (random.chance(0.3))
    lines.push(`Content-Type: ${random.pick(["text/plain", "image/png", "application/json", "x"])}`);
  if (random.chance(0.1)) lines.push(`Content-Transfer-Encoding: ${random.pick(["base64", "binary", "7bit"])}`);
  if (random.chance(0.2))
    lines.push(random.pick(["X-A: b", "X-A:", " folded", ": x", "no colon", "X A: b", "\nY: z", "X-A: b\ry"]));
  return lines;
}

const drawPart = (random: Random): Part => ({
  headers: drawHeaders(random),
  content: Buffer.from(textOf(random, contents, 8), "latin1"),
});

/** Small chunks are gathered: the border of what is gathered then falls somewhere behind this part. */
const drawLong = (random: Random): Part => ({
  headers: ['Content-Disposition: form-data; name="long"'],
  content: Buffer.alloc(partHeaderBytesMax - random.int(0, 400), "x"),
});

interface Body {
  readonly boundary: string;
  readonly preamble: string;
  readonly parts: readonly Part[];
  readonly end: string;
}

function bytesOf({ boundary, preamble, parts, end }: Body): Buffer {
  const pieces = parts.flatMap(({ headers, content }) => [
    Buffer.from(`--${boundary}\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n`),
    content,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([Buffer.from(preamble), ...pieces, Buffer.from(`--${boundary}--${end}`)]);
}

function drawBody(random: Random): Body {
  return {
    boundary: random.pick(["B", "B", "--B", "xYz0123456789", "B:'()+_,-./=?"]),
    preamble: random.chance(0.85) ? "" : random.pick(["x\r\n", "\r\n", "--Bx\r\n", "--B--\r\n"]),
    parts: listOf(random, 4, () => (random.chance(0.05) ? drawLong(random) : drawPart(random))),
    end: random.chance(0.8) ? "\r\n" : random.pick(["", " ", "\r\nx", "\r\n--B\r\n", "x"]),
  };
}

/** Nearly the same body. */
function near(random: Random, body: Body): Body {
  const at = random.int(0, Math.max(0, body.parts.length - 1));
  const part = body.parts[at];
  switch (random.int(0, 6)) {
    case 0:
      return { ...body, boundary: `${body.boundary}9` };
    case 1:
      return { ...body, preamble: random.pick(["x\r\n", "\r\n", "--Bx\r\n"]) };
    case 2:
      return { ...body, parts: body.parts.toReversed() };
    case 3:
      return { ...body, parts: [...body.parts, drawPart(random)] };
    case 4:
      return { ...body, end: random.pick(["", "\r\n", "\r\nx"]) };
    default:
      if (part === undefined) return drawBody(random);
      return { ...body, parts: body.parts.with(at, { ...part, ...drawNear(random, part) }) };
  }
}

function drawNear(random: Random, { headers, content }: Part): Partial<Part> {
  switch (random.int(0, 4)) {
    case 0:
      return { content: content.length === 0 ? Buffer.from("x") : Buffer.from(flipBit(random, content)) };
    case 1:
      return { headers: [...headers, random.pick(["X-B: c", "\tfolded", "Content-Type: text/html", "x: y\nz: w"])] };
    case 2:
      return { headers: headers.map((line) => line.toLowerCase()) };
    case 3:
      return { headers: headers.map((line) => line.replace(": ", random.pick([":", ":  ", ": \t", " : "]))) };
    default:
      return { headers: drawHeaders(random) };
  }
}

/**
 * A line of the content begins like a delimiter and goes on. By RFC 2046 it is content; busboy ends the part there and
 * drops what follows. No client makes a boundary that its content holds.
 */
function hasLookAlike({ boundary, parts }: Body): boolean {
  return parts.some(({ content }) => `\r\n${content.toString("latin1")}`.includes(`\r\n--${boundary}`));
}

function readInChunks(random: Random, bytes: Uint8Array, boundary: string): MultipartReading {
  const hash = createMultipartHash({ essence, boundary });
  for (const chunk of chunksOf(random, bytes)) hash.update(chunk);
  return hash.read(undefined);
}

/** The parts as busboy hands them to a handler, in the order in which they are compared. Undefined: it refuses the body. */
function asHandlersRead(bytes: Uint8Array, boundary: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const seen: { order: string; shown: string }[] = [];
    const orderOf = (name: string | undefined): string => (name === undefined ? "" : `=${name}`);
    const headers = { "content-type": `${essence}; boundary="${boundary}"` };
    const reader = busboy({ headers, defParamCharset: "latin1", defCharset: "latin1", preservePath: true });
    reader.on("field", (name, value, { encoding, mimeType }) => {
      seen.push({ order: orderOf(name), shown: JSON.stringify([name, value, encoding, mimeType]) });
    });
    reader.on("file", (name, stream, { filename, encoding, mimeType }) => {
      const entry = { order: orderOf(name), shown: "" };
      seen.push(entry);
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => undefined);
      stream.on("close", () => {
        entry.shown = JSON.stringify([name, filename, encoding, mimeType, Buffer.concat(chunks).toString("latin1")]);
      });
    });
    reader.on("error", () => resolve(undefined));
    reader.on("close", () => {
      // An empty name and none are the same to busboy, so in which order such parts came is not asked.
      const nameless = seen.filter(({ order }) => order === "").map(({ shown }) => shown);
      const named = seen.filter(({ order }) => order !== "");
      named.sort((one, other) => (one.order === other.order ? 0 : one.order < other.order ? -1 : 1));
      resolve([...nameless.toSorted(), ...named.map(({ shown }) => shown)].join("\n"));
    });
    reader.end(bytes);
  });
}

export const multipartBodies: Target = {
  name: "multipart-bodies",
  promise: "A28 a multipart body is read alike in any chunks, and two bodies that busboy reads differently never alike",
  inputs: 20_000,
  open: () => ({
    async attempt(random) {
      const body = drawBody(random);
      const bytes = bytesOf(body);
      const whole = readMultipart(bytes, { essence, boundary: body.boundary });
      const inChunks = readInChunks(random, bytes, body.boundary);
      must(JSON.stringify(whole) === JSON.stringify(inChunks), "another reading in chunks", bytes, whole, inChunks);
      const other = near(random, body);
      const otherBytes = bytesOf(other);
      const reading = readInChunks(random, otherBytes, other.boundary);
      if (whole.kind !== "parts" || reading.kind !== "parts" || whole.text !== reading.text) return;
      if (hasLookAlike(body) || hasLookAlike(other)) return;
      const seen = await asHandlersRead(bytes, body.boundary);
      const otherSeen = await asHandlersRead(otherBytes, other.boundary);
      must(
        seen === otherSeen,
        "one hash, but two readings",
        bytes,
        otherBytes,
        seen ?? "refused",
        otherSeen ?? "refused",
      );
    },
  }),
};
