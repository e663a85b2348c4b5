import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nestingMax } from "./canonical-json.ts";
import { type FingerprintInput, fingerprintOf, fingerprintOfInput, fingerprintVersion } from "./fingerprint.ts";
import type { Fingerprint } from "../contract/record.ts";

const semantic = { fields: undefined, compare: "semantic" } as const;
const exact = { fields: undefined, compare: "bytes" } as const;
const base: FingerprintInput = {
  method: "POST",
  target: "/payments",
  mediaType: "application/json",
  body: { kind: "none" },
  options: semantic,
};

const bytes = (content: string | Uint8Array): FingerprintInput["body"] => ({
  kind: "bytes",
  bytes: Buffer.from(content),
});
const parsed = (value: unknown): FingerprintInput["body"] => ({ kind: "parsed", value });
const of = (content: string | Uint8Array, more: Partial<FingerprintInput> = {}): Fingerprint =>
  fingerprintOf({ ...base, body: bytes(content), ...more });
const ofParsed = (value: unknown, more: Partial<FingerprintInput> = {}): Fingerprint =>
  fingerprintOf({ ...base, body: parsed(value), ...more });

/** The rule that stores apply. */
function isSame(a: Fingerprint, b: Fingerprint): boolean {
  return Buffer.compare(a.raw, b.raw) === 0 || Buffer.compare(a.canonical, b.canonical) === 0;
}

describe("fingerprintOf", () => {
  it("F-01 F-02 differs by content, and comes back with the original content", () => {
    const first = of('{"amount":100}');
    expect(isSame(first, of('{"amount":200}'))).toBe(false);
    expect(of('{"amount":100}')).toEqual(first);
  });

  it("F-03 does not mind member order and white space, but minds the order of an array", () => {
    const first = of('{"a":{"x":1,"y":2},"b":[1,2]}');
    expect(isSame(first, of('{ "b": [1, 2],\n "a": {"y":2,"x":1} }'))).toBe(true);
    expect(isSame(first, of('{"a":{"x":1,"y":2},"b":[2,1]}'))).toBe(false);
  });

  it("F-03 F-04 F-06 minds every byte where bytes are compared", () => {
    const options = exact;
    expect(isSame(of('{"a":1,"b":2}', { options }), of('{"b":2,"a":1}', { options }))).toBe(false);
    expect(isSame(of('{"a":1}', { options }), of('{"a":1.0}', { options }))).toBe(false);
    expect(isSame(of('"é"', { options }), of('"\\u00e9"', { options }))).toBe(false);
    expect(isSame(of('{"a":1}', { options }), of('{"a":1}', { options }))).toBe(true);
  });

  it("F-04 compares numbers by value", () => {
    for (const text of ['{"a":1.0,"b":0}', '{"a":1e0,"b":-0}', '{"a":10e-1,"b":0.0}']) {
      expect(isSame(of('{"a":1,"b":0}'), of(text))).toBe(true);
    }
  });

  it("F-05 A13 does not collapse numbers through doubles", () => {
    expect(isSame(of('{"a":9007199254740992}'), of('{"a":9007199254740993}'))).toBe(false);
    expect(isSame(of('{"a":0.1}'), of('{"a":0.10000000000000000001}'))).toBe(false);
    expect(isSame(of('{"a":1e400}'), of('{"a":null}'))).toBe(false);
  });

  it("F-06 reads escapes and does not normalise", () => {
    expect(isSame(of('{"a":"é"}'), of('{"a":"\\u00e9"}'))).toBe(true);
    expect(isSame(of('{"a":"é"}'), of('{"a":"e\u0301"}'))).toBe(false);
  });

  it("F-08 takes an empty body for none, whatever its media type, and {} for something", () => {
    const none = fingerprintOf(base);
    expect(isSame(none, of(""))).toBe(true);
    expect(isSame(none, of("", { mediaType: "text/plain" }))).toBe(true);
    expect(isSame(none, fingerprintOf({ ...base, mediaType: undefined }))).toBe(true);
    expect(isSame(none, ofParsed(undefined))).toBe(true);
    expect(isSame(none, ofParsed("", { mediaType: "text/plain" }))).toBe(true);
    expect(isSame(none, of("{}"))).toBe(false);
    expect(isSame(none, ofParsed({}))).toBe(false);
    expect(isSame(of("{}"), of("null"))).toBe(false);
  });

  it("F-09 ignores parameters of the media type and minds the type", () => {
    const first = of('{"a":1}');
    expect(isSame(first, of('{"a":1}', { mediaType: "Application/JSON; charset=utf-8" }))).toBe(true);
    for (const mediaType of [
      "application/x-www-form-urlencoded",
      "application/vnd.api+json",
      "text/plain",
      undefined,
    ]) {
      expect(isSame(first, of('{"a":1}', { mediaType }))).toBe(false);
    }
  });

  it("F-12 minds every bit of other media types", () => {
    const mediaType = "application/octet-stream";
    const content = Uint8Array.from({ length: 256 }, (_, index) => index);
    const flipped = content.with(200, (content[200] ?? 0) ^ 1);
    expect(isSame(of(content, { mediaType }), of(content, { mediaType }))).toBe(true);
    expect(isSame(of(content, { mediaType }), of(flipped, { mediaType }))).toBe(false);
    expect(isSame(of('{"a":1}', { mediaType }), of('{"a": 1}', { mediaType }))).toBe(false);
  });

  it("F-13 is the same for the decoded content of any coding", () => {
    const content = Buffer.from('{"a":1}');
    expect(of(gunzipSync(gzipSync(content, { level: 1 })))).toEqual(of(content));
  });

  it("F-14 knows nothing of other headers: its input is method, target, media type and body", () => {
    const noisy = { ...base, body: bytes("{}"), userAgent: "x", date: "y", authorization: "z" };
    expect(fingerprintOf(noisy)).toEqual(of("{}"));
  });

  it("A09 A11 differs by method and target", () => {
    const none = fingerprintOf(base);
    expect(isSame(none, fingerprintOf({ ...base, target: "/payments/2" }))).toBe(false);
    expect(isSame(none, fingerprintOf({ ...base, method: "PATCH" }))).toBe(false);
  });

  it("S-02 differs by operation where one is given, even with all else equal", () => {
    const [a, b] = ["a.create", "b.create"].map((operation) => of("{}", { operation }));
    expect(isSame(a as Fingerprint, b as Fingerprint)).toBe(false);
    expect(isSame(a as Fingerprint, of("{}"))).toBe(false);
  });

  it("A13 differs by query, but not by the order of its names", () => {
    const at = (target: string): Fingerprint => of("{}", { target });
    expect(isSame(at("/a?x=1&y=2"), at("/a?y=2&x=1"))).toBe(true);
    expect(isSame(at("/a?x=1"), at("/a?x=2"))).toBe(false);
    expect(isSame(at("/a?x=1"), at("/a"))).toBe(false);
  });

  it("A15 takes a URL of 2000 characters and sees its last one", () => {
    const long = `/a?q=${"x".repeat(1995)}`;
    expect(isSame(of("{}", { target: `${long}1` }), of("{}", { target: `${long}2` }))).toBe(false);
  });

  it("A13 sees a difference past 1 MiB", () => {
    const body = (last: string): string => `{"a":"${"x".repeat(1_100_000)}${last}"}`;
    expect(isSame(of(body("1")), of(body("2")))).toBe(false);
    expect(isSame(of(body("1"), { mediaType: "text/plain" }), of(body("2"), { mediaType: "text/plain" }))).toBe(false);
  });

  it("A13 S9 tells near-equal bodies apart, all of them", () => {
    const bodies = [
      "{}",
      "[]",
      "null",
      "0",
      '""',
      "false",
      "true",
      "1",
      '"1"',
      "[1]",
      "[1,2]",
      "[[1],2]",
      "[1,[2]]",
      '{"a":1}',
      '{"a":"1"}',
      '{"a":null}',
      '{"a":[1]}',
      '{"A":1}',
      '{"a":1,"b":null}',
      '{"a":2}',
      '{"a":1,"a":2}',
      '{"a":2,"a":1}',
      '{"a":1,"a":1}',
      '{"a":{"b":1}}',
      '{"a":{},"b":1}',
      '{"__proto__":{"a":1}}',
      '{"a":1,"__proto__":{"b":1}}',
      '{"constructor":1}',
      '{"1":0,"2":0}',
      '{"10":0,"2":0}',
      '{"a":"\\ud800"}',
      '{"a":"\\udc00"}',
      '{"a":"\ufffd"}',
      '{"a":"\\u0000"}',
      '{"a":""}',
      '{"a":"é"}',
      '{"a":"e\u0301"}',
      '{"a":9007199254740992}',
      '{"a":9007199254740993}',
      '{"a":0.1}',
      '{"a":0.10000000000000000001}',
      '{"a":1e400}',
      '{"a":1e401}',
      '{"a":-1}',
      '{"a":1e-400}',
      '{"a":0}',
      '{"a":1}x',
      '{"a":1,}',
      "{a:1}",
      "\ufeff{}",
      " ",
    ];
    const seen = bodies.flatMap((body) =>
      [of(body).canonical, of(body).raw].map((hash) => Buffer.from(hash).toString("hex")),
    );
    expect(new Set(seen).size).toBe(2 * bodies.length);
  });

  it("A28 compares multipart by parts, not by boundary", async () => {
    const send = async (content: string): Promise<Fingerprint> => {
      const data = new FormData();
      data.append("amount", "1");
      data.append("file", new File([content], "a.txt", { type: "text/plain" }));
      const response = new Response(data);
      return of(new Uint8Array(await response.arrayBuffer()), {
        mediaType: response.headers.get("content-type") ?? undefined,
      });
    };
    const [first, again, changed] = [await send("x"), await send("x"), await send("y")];
    expect(first.raw).not.toEqual(again.raw);
    expect(isSame(first, again)).toBe(true);
    expect(isSame(first, changed)).toBe(false);
  });

  it("A28 does not take the same bytes for the same parts under another boundary", () => {
    const body = "--a\r\n\r\n1\r\n--b\r\n\r\n2\r\n--b--\r\n--a--";
    const [a, b] = ["a", "b"].map((boundary) => of(body, { mediaType: `multipart/form-data; boundary=${boundary}` }));
    expect(isSame(a as Fingerprint, b as Fingerprint)).toBe(false);
  });

  it.each([
    ["malformed JSON", "application/json", '{"a":1'],
    ["JSON that is no UTF-8", "application/json", Buffer.of(0x22, 0xff, 0x22)],
    ["JSON with a byte order mark", "application/json", "\ufeff{}"],
    ["JSON nested too deep", "application/json", "[".repeat(nestingMax + 1) + "]".repeat(nestingMax + 1)],
    ["JSON nested absurdly deep", "application/json", "[".repeat(200_000)],
    ["multipart without a boundary", "multipart/form-data", "--a\r\n\r\n1\r\n--a--"],
    ["malformed multipart", "multipart/form-data; boundary=a", "--a\r\n"],
  ])("S9 compares %s byte by byte, and never throws", (_, mediaType, content) => {
    const other = Buffer.concat([Buffer.from(content), Buffer.from(" ")]);
    expect(isSame(of(content, { mediaType }), of(content, { mediaType }))).toBe(true);
    expect(isSame(of(content, { mediaType }), of(other, { mediaType }))).toBe(false);
  });

  it("S9 never throws on arbitrary bytes and media types", () => {
    const mediaType = fc.constantFrom(
      "application/json",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=a",
      "x",
      undefined,
    );
    const content = fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: fc.constantFrom("--a", "\r\n", "&", "=", "%", "{", '"', ":", "1", "--"), maxLength: 20 }),
    );
    fc.assert(
      fc.property(content, mediaType, fc.string(), (given, type, target) => {
        const print = of(given, { mediaType: type, target });
        expect([print.raw.length, print.canonical.length, print.version]).toEqual([32, 32, fingerprintVersion]);
      }),
      { numRuns: 2000 },
    );
  });

  it("compares forms by their pairs", () => {
    const mediaType = "application/x-www-form-urlencoded";
    expect(isSame(of("a=1&b=x+y", { mediaType }), of("b=x%20y&a=1", { mediaType }))).toBe(true);
    expect(isSame(of("a=1&a=2", { mediaType }), of("a=2&a=1", { mediaType }))).toBe(false);
  });

  it("leaves the body as it was", () => {
    const body = Buffer.from('{"b":1, "a":2}');
    fingerprintOf({ ...base, body: { kind: "bytes", bytes: body } });
    expect(body.toString()).toBe('{"b":1, "a":2}');
  });

  it("keeps its hashes from release to release", () => {
    // Written out: a change of these without a new version would turn every retry during a deploy into a mismatch.
    const print = of('{"b":1.0,"a":2}', { target: "/p?b=1&a=2", mediaType: "application/json; charset=utf-8" });
    expect(Buffer.from(print.canonical).toString("hex")).toBe(
      "3e45ec73bd561994a3de71b7ccecf4a21000187333cc3d7da2f45586f3fc75fb",
    );
    expect(Buffer.from(print.raw).toString("hex")).toBe(
      "e96e5676d40935463c1845c6586e922fd1d4d9d9ed40859bf4dc42e43e5afd68",
    );
  });
});

describe("fingerprintOf a parsed body", () => {
  it("F-03 gives the canonical hash of the equivalent JSON bytes, for both", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const print = ofParsed(JSON.parse(text));
        expect(print.canonical).toEqual(of(text).canonical);
        expect(print.raw).toEqual(print.canonical);
      }),
    );
  });

  it("takes raw and text bodies as the bytes they are", () => {
    for (const mediaType of ["application/json", "application/octet-stream", "multipart/form-data; boundary=a"]) {
      const content = Buffer.from('{"a":1}');
      expect(ofParsed(content, { mediaType })).toEqual(of(content, { mediaType }));
      expect(ofParsed(Uint8Array.from(content).buffer, { mediaType })).toEqual(of(content, { mediaType }));
    }
    expect(ofParsed("é", { mediaType: "text/plain" })).toEqual(of("é", { mediaType: "text/plain" }));
    expect(ofParsed("a", { mediaType: "application/json" }).canonical).toEqual(of('"a"').canonical);
  });

  it("takes a parsed form as its bytes, and a nested one by its members", () => {
    const mediaType = "application/x-www-form-urlencoded";
    expect(ofParsed({ b: "2", a: ["1", "3"] }, { mediaType }).canonical).toEqual(
      of("a=1&a=3&b=2", { mediaType }).canonical,
    );
    expect(isSame(ofParsed({ a: { b: "1" } }, { mediaType }), ofParsed({ a: { b: "2" } }, { mediaType }))).toBe(false);
  });

  it("holds a value parsed from another media type apart from JSON", () => {
    expect(isSame(ofParsed({ a: 1 }, { mediaType: "application/yaml" }), ofParsed({ a: 1 }))).toBe(false);
    expect(
      isSame(
        ofParsed({ a: 1 }, { mediaType: "application/yaml" }),
        ofParsed({ a: 1 }, { mediaType: "application/yaml" }),
      ),
    ).toBe(true);
  });

  it("tells the client when a body is nested too deep to be compared", () => {
    const deep: unknown = JSON.parse("[".repeat(nestingMax + 1) + "]".repeat(nestingMax + 1));
    expect(() => ofParsed(deep)).toThrow(expect.objectContaining({ code: "request-unreadable", status: 400 }) as Error);
  });

  it("refuses a value whose content it cannot see", () => {
    expect(() => ofParsed(new FormData(), { mediaType: "multipart/form-data; boundary=a" })).toThrow(
      expect.objectContaining({ code: "value-not-serialisable" }) as Error,
    );
  });
});

describe("fingerprintOf with fields", () => {
  const options = { fields: ["amount", "customer.id"], compare: "semantic" } as const;
  const first = '{"amount":1,"customer":{"id":7,"name":"x"},"sentAt":1}';
  const retry = '{"amount":1,"customer":{"id":7,"name":"y"},"sentAt":2}';

  it("sees no difference outside the fields, and every one inside", () => {
    expect(isSame(of(first, { options }), of(retry, { options }))).toBe(true);
    expect(isSame(of(first, { options }), of(first.replace("7", "8"), { options }))).toBe(false);
    expect(isSame(of('{"amount":null}', { options }), of("{}", { options }))).toBe(false);
    expect(ofParsed(JSON.parse(retry), { options }).canonical).toEqual(of(first, { options }).canonical);
  });

  it("still minds target, media type and what is no object", () => {
    expect(isSame(of(first, { options }), of(retry, { options, target: "/payments?x=1" }))).toBe(false);
    expect(isSame(of(first, { options }), of(retry, { options, mediaType: "application/vnd.api+json" }))).toBe(false);
    expect(isSame(of("[1]", { options }), of("[2]", { options }))).toBe(false);
  });

  it("applies to forms and parts by name", () => {
    const mediaType = "application/x-www-form-urlencoded";
    expect(isSame(of("amount=1&t=1", { options, mediaType }), of("t=2&amount=1", { options, mediaType }))).toBe(true);
    expect(isSame(of("amount=1&t=1", { options, mediaType }), of("amount=2&t=1", { options, mediaType }))).toBe(false);
    const parts = (t: string): string =>
      `--a\r\nContent-Disposition: form-data; name=amount\r\n\r\n1\r\n--a\r\nContent-Disposition: form-data; name=t\r\n\r\n${t}\r\n--a--`;
    const multipart = "multipart/form-data; boundary=a";
    expect(
      isSame(of(parts("1"), { options, mediaType: multipart }), of(parts("2"), { options, mediaType: multipart })),
    ).toBe(true);
  });
});

describe("fingerprintOfInput", () => {
  it("compares inputs by meaning", () => {
    expect(fingerprintOfInput({ a: 1, b: [2n] })).toEqual(fingerprintOfInput({ b: [2], a: 1 }));
    expect(isSame(fingerprintOfInput({ a: 1 }), fingerprintOfInput({ a: 2 }))).toBe(false);
    expect(isSame(fingerprintOfInput(null), fingerprintOfInput(undefined))).toBe(false);
    expect(fingerprintOfInput(undefined)).toEqual(fingerprintOfInput(undefined));
  });

  it("S-02 differs by operation where one is given", () => {
    expect(isSame(fingerprintOfInput(1, "a"), fingerprintOfInput(1, "b"))).toBe(false);
  });

  it("holds an input apart from any request body", () => {
    expect(isSame(fingerprintOfInput({}), of("{}"))).toBe(false);
  });

  it("refuses what cannot be compared", () => {
    expect(() => fingerprintOfInput({ a: Number.NaN })).toThrow(
      expect.objectContaining({ code: "value-not-serialisable" }) as Error,
    );
    expect(() => fingerprintOfInput({ a: () => 1 })).toThrow(
      expect.objectContaining({ code: "value-not-serialisable" }) as Error,
    );
  });
});
