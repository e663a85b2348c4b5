import { describe, expect, it } from "vitest";
import { parseMediaType } from "./media-type.ts";
import { multipartPartsMax, partHeaderBytesMax, readMultipart } from "./multipart.ts";

type Parts = readonly (readonly [name: string, value: string | File])[];

/** As a client sends it, with a boundary of its own each time. */
async function encode(parts: Parts): Promise<{ bytes: Uint8Array; boundary: string }> {
  const data = new FormData();
  for (const [name, value] of parts) data.append(name, value);
  const response = new Response(data);
  const boundary = parseMediaType(response.headers.get("content-type") ?? "").boundary;
  return { bytes: new Uint8Array(await response.arrayBuffer()), boundary: boundary ?? "" };
}

function canonicalMultipart(bytes: Uint8Array, boundary: string, fields?: readonly string[]): string | undefined {
  const reading = readMultipart(bytes, { essence: "multipart/form-data", boundary }, fields);
  return reading.kind === "parts" ? reading.text : undefined;
}

async function canonical(parts: Parts, fields?: readonly string[]): Promise<string | undefined> {
  const { bytes, boundary } = await encode(parts);
  return canonicalMultipart(bytes, boundary, fields);
}

const file = (content: string | Uint8Array<ArrayBuffer>, name = "a.bin", type = "application/octet-stream"): File =>
  new File([content], name, { type });
const read = (text: string, boundary = "B", fields?: readonly string[]): string | undefined =>
  canonicalMultipart(Buffer.from(text, "latin1"), boundary, fields);
const part = (headers: string, content: string): string => `--B\r\n${headers}\r\n\r\n${content}\r\n`;
const named = (name: string, content: string): string =>
  part(`Content-Disposition: form-data; name="${name}"`, content);

describe("readMultipart", () => {
  it("A28 finds the same parts under another boundary the same", async () => {
    const parts = [
      ["amount", "100"],
      ["scan", file(Uint8Array.from({ length: 256 }, (_, index) => index))],
    ] as const;
    const [first, second] = [await encode(parts), await encode(parts)];
    expect(first.boundary).not.toBe(second.boundary);
    const spelt = canonicalMultipart(first.bytes, first.boundary);
    expect(spelt).toBeDefined();
    expect(canonicalMultipart(second.bytes, second.boundary)).toBe(spelt);
  });

  it("A28 holds apart what differs in name, content, file name, media type, number of parts or order within a name", async () => {
    const bodies = await Promise.all(
      (
        [
          [
            ["a", "1"],
            ["f", file("x")],
          ],
          [
            ["a", "2"],
            ["f", file("x")],
          ],
          [
            ["b", "1"],
            ["f", file("x")],
          ],
          [
            ["a", "1"],
            ["f", file("y")],
          ],
          [
            ["a", "1"],
            ["f", file("x", "b.bin")],
          ],
          [
            ["a", "1"],
            ["f", file("x", "a.bin", "image/png")],
          ],
          [
            ["a", "1"],
            ["f", "x"],
          ],
          [["a", "1"]],
          [
            ["a", "1"],
            ["a", "2"],
          ],
          [
            ["a", "2"],
            ["a", "1"],
          ],
          [
            ["a", "1"],
            ["a", "1"],
          ],
          [],
        ] satisfies Parts[]
      ).map((parts: Parts) => canonical(parts)),
    );
    expect(bodies).not.toContain(undefined);
    expect(new Set(bodies).size).toBe(bodies.length);
  });

  it("A28 finds fields of a form the same in another order, and parts of other types not", async () => {
    const parts = [
      ["a", "1"],
      ["f", file("x")],
      ["a", "2"],
    ] as const;
    expect(await canonical(parts)).toBe(await canonical([parts[1], parts[0], parts[2]]));
    const mixed = (body: string) => readMultipart(Buffer.from(body), { essence: "multipart/mixed", boundary: "B" });
    expect(mixed(`${named("b", "1")}${named("a", "1")}--B--`)).not.toEqual(
      mixed(`${named("a", "1")}${named("b", "1")}--B--`),
    );
  });

  it("A28 takes content that looks like parts as content", async () => {
    const inner = await encode([
      ["x", "1"],
      ["y", "2"],
    ]);
    const outer = (content: string): Promise<string | undefined> => canonical([["f", file(content)]]);
    expect(await outer(Buffer.from(inner.bytes).toString("latin1"))).not.toBe(await outer(""));
    expect(read(`${named("a", "1\r\n--BX\r\n--B x\r\nz--B")}--B--`)).toBe(
      read(`${named("a", "1\r\n--BX\r\n--B x\r\nz--B")}--B--`),
    );
    expect(read(`${named("a", "1\r\n--BX")}--B--`)).not.toBe(read(`${named("a", "1")}--B--`));
  });

  it.each(["--B-", "--B-x", "--Bx-", "--B x", "--B\rx", "--Bx\n", "x--B", "--B-\r\n--B"])(
    "A28 takes %j for content, since it is no delimiter",
    (content) => {
      const body = (boundary: string): string =>
        `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n${content}x\r\n2\r\n--${boundary}--`;
      expect(read(body("B"))).toBeDefined();
      expect(read(body("B"))).toBe(read(body("another"), "another"));
    },
  );

  it("A28 ignores preamble, epilogue, padding and other headers", () => {
    const plain = read(`${named("a", "1")}--B--`);
    expect(plain).toBeDefined();
    expect(read(`\r\n${named("a", "1")}--B--`)).toBe(plain);
    expect(read(`preamble\r\n${named("a", "1")}--B--\r\nepilogue --B\r\n--X`)).toBe(plain);
    expect(read(`--B \t\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--B-- `)).toBe(plain);
    expect(read(`${part("content-disposition:form-data; name=a\r\nContent-Length: 1\r\nX-A: b", "1")}--B--\r\n`)).toBe(
      plain,
    );
  });

  it("A28 takes what parsers read in several ways for malformed: folded lines, names that are no token, controls", () => {
    for (const headers of [
      "Content-Disposition: form-data;\r\n name=a",
      " Content-Disposition: form-data; name=a",
      "\nContent-Disposition: form-data; name=a",
      "Content-Disposition : form-data; name=a",
      "X Y: 1",
      "Content-Disposition: form-data; name=a\nX: 1",
      "Content-Disposition: form-data; name=a\r\nX: 1\r2",
      "Content-Disposition: form-data; name=a\r\nX: \0",
    ]) {
      expect(read(`${part(headers, "1")}--B--`), headers).toBeUndefined();
    }
  });

  it("A28 takes a boundary in what is passed over for malformed: parsers differ in whether it is a delimiter", () => {
    const named = part('Content-Disposition: form-data; name="a"', "1");
    expect(read(`preamble\r\n${named}--B--\r\nepilogue`)).toBeDefined();
    for (const body of [
      `--B--x\r\n${named}--B--`,
      `preamble\r\n--B-- x\r\n${named}--B--`,
      `--Bx\r\n${named}--B--`,
      `--B--\r\n${named}--B--`,
      `--B--\r\n--B--`,
      `${named}--B--\r\n--B--`,
      `${named}--B--\r\nepilogue\r\n--Bx`,
      `${named}--B--\r\n${"x".repeat(100_000)}\r\n--B`,
    ]) {
      expect(read(body), body.slice(0, 100)).toBeUndefined();
    }
  });

  it("A28 compares the transfer coding of a part, by which some parsers decode it", () => {
    const coded = (line: string): string | undefined =>
      read(`${part(`Content-Disposition: form-data; name="a"${line}`, "MQ==")}--B--`);
    expect(coded("\r\nContent-Transfer-Encoding: base64")).not.toBe(coded(""));
    expect(coded("\r\nContent-Transfer-Encoding: BASE64")).toBe(coded("\r\nContent-Transfer-Encoding: base64"));
  });

  it("A28 compares the media type of a part without its parameters", () => {
    const typed = (type: string): string | undefined =>
      read(`${part(`Content-Disposition: form-data; name="a"\r\nContent-Type: ${type}`, "1")}--B--`);
    expect(typed("text/plain; charset=utf-8")).toBe(typed("Text/Plain"));
    expect(typed("text/plain")).not.toBe(typed("text/html"));
  });

  it("A28 reads quoted file names with escapes, and holds an empty one apart from none", () => {
    const fileNamed = (parameter: string): string | undefined =>
      read(`${part(`Content-Disposition: form-data; name="a"${parameter}`, "1")}--B--`);
    expect(fileNamed('; filename="a;b\\"c.txt"')).not.toBe(fileNamed('; filename="a"'));
    expect(fileNamed("; filename=a.txt")).toBe(fileNamed('; filename="a.txt"'));
    expect(fileNamed('; filename=""')).not.toBe(fileNamed(""));
    expect(fileNamed("; filename*=UTF-8''x")).not.toBe(fileNamed("; filename*=UTF-8''y"));
  });

  it("takes parts without headers, without a disposition and without parts", () => {
    expect(read("--B\r\n\r\n1\r\n--B--")).toBeDefined();
    expect(read(`${part("Content-Type: text/plain", "1")}--B--`)).toBeDefined();
    expect(read(`${part("Content-Disposition: attachment", "1")}--B--`)).not.toBe(
      read(`${part("Content-Disposition: inline", "1")}--B--`),
    );
    expect(read("--B--")).toBe("");
  });

  it.each([
    ["no delimiter", "abc"],
    ["no end", named("a", "1")],
    ["something behind the last delimiter", `${named("a", "1")}--B--x`],
    ["another boundary", "--C\r\n\r\n1\r\n--C--"],
    ["headers without an end", "--B\r\nContent-Type: text/plain\r\n--B--"],
    ["nothing between delimiters", "--B\r\n--B--"],
    ["bare line feeds", '--B\nContent-Disposition: form-data; name="a"\n\n1\n--B--'],
    ["a delimiter inside a line", `x${named("a", "1")}--B--`.replaceAll("\r\n--B", " --B")],
    ["endless headers", `${part(`X: ${"y".repeat(partHeaderBytesMax)}`, "1")}--B--`],
    ["a header without a colon", `${part("Content-Disposition form-data", "1")}--B--`],
    ["a header without a name", `${part(": form-data", "1")}--B--`],
    ["two dispositions", `${part("Content-Disposition: a\r\ncontent-disposition: b", "1")}--B--`],
    ["a malformed disposition", `${part("Content-Disposition: form-data; filename=a b; name=c", "1")}--B--`],
    ["nothing", ""],
  ])("gives up on %s", (_, text) => {
    expect(read(text)).toBeUndefined();
  });

  it("gives up on too many parts and on a boundary that is none", () => {
    expect(read(`${named("a", "1").repeat(multipartPartsMax)}--B--`)).toBeDefined();
    expect(read(`${named("a", "1").repeat(multipartPartsMax + 1)}--B--`)).toBeUndefined();
    expect(read("----", "")).toBeUndefined();
    expect(read(`--${"x".repeat(200)}--`, "x".repeat(200))).toBe("");
    expect(read(`--${"x".repeat(201)}--`, "x".repeat(201))).toBeUndefined();
  });

  it("A28 keeps the named fields alone", async () => {
    const whole = [
      ["note", "x"],
      ["amount", "1"],
      ["é", "2"],
    ] as const;
    expect(await canonical(whole, ["amount"])).toBe(
      await canonical(
        [
          ["note", "other"],
          ["amount", "1"],
          ["é", "3"],
        ],
        ["amount"],
      ),
    );
    expect(await canonical(whole, ["é"])).not.toBe(
      await canonical(
        [
          ["note", "x"],
          ["amount", "1"],
          ["é", "3"],
        ],
        ["é"],
      ),
    );
    expect(read(`${part("Content-Type: text/plain", "1")}--B--`, "B", ["a"])).toBe(
      read(`${part("X: y", "2")}--B--`, "B", ["a"]),
    );
  });
});
