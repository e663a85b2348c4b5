/** Bodies and headers come from strangers: the work that they make grows with their length, whatever their shape. */
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { parseEntityTags } from "ichido/guards";
import { describe, expect, it } from "vitest";
import { canonicalJson, fieldTreeOf } from "../../packages/ichido/src/core/request/canonical-json.ts";
import { canonicalForm, isFieldNamed } from "../../packages/ichido/src/core/request/form.ts";
import { parseKey } from "../../packages/ichido/src/core/request/key.ts";
import { parametersOf, parseMediaType } from "../../packages/ichido/src/core/request/media-type.ts";
import { profiles } from "../../packages/ichido/src/core/contract/profiles.ts";
import { comparableTarget } from "../../packages/ichido/src/core/request/fingerprint.ts";
import { codingsOf } from "../../packages/ichido/src/http/content-coding.ts";
import { captureBytes } from "../../packages/ichido/src/http/node-request.ts";
import { readBytes } from "../../packages/ichido/src/http/web-request.ts";
import { bytesCopied, charactersRead } from "../support/work-meter.ts";

type Texts = Readonly<Record<string, (size: number) => string>>;

const many = (size: number, make: (index: number) => string): string =>
  Array.from({ length: Math.ceil(size / make(0).length) }, (_, index) => make(index)).join("");
const members = (size: number, make: (index: number) => string): string =>
  `{${Array.from({ length: Math.ceil(size / 12) }, (_, index) => make(index)).join(",")}}`;
const wide = (index: number): string => String(1_000_000 - index);

/** At twice the length twice the work, and never more than `perCharacter` for each one. */
function isLinear(name: string, texts: Texts, perCharacter: number, work: (text: string) => unknown): void {
  describe(name, () => {
    for (const [shape, make] of Object.entries(texts)) {
      it(`is read in linear work: ${shape}`, () => {
        for (const size of [2_000, 16_000, 128_000]) {
          const text = make(size);
          const read = charactersRead(() => work(text));
          expect(read, `of ${text.length} characters`).toBeLessThan(perCharacter * text.length + 2_000);
          expect(read).toBeGreaterThan(0);
        }
      });
    }
  });
}

const documents: Texts = {
  "members in reverse order": (size) => members(size, (index) => `"${wide(index)}":1`),
  "members in order": (size) => members(size, (index) => `"${wide(-index)}":1`),
  "one member, repeated": (size) => members(size, () => '"aaaaaaa":1'),
  "one member, repeated, with spaces": (size) => members(size, () => '"aaaaaa" : 1'),
  "members with escapes in their names": (size) => members(size, (index) => `"\\u0061${index}":1`),
  "deep arrays around much": (size) => `${"[ ".repeat(450)}"${"x".repeat(size)}"${"]".repeat(450)}`,
  "deep objects around much": (size) => `${'{ "a":'.repeat(450)}"${"x".repeat(size)}"${"}".repeat(450)}`,
  "deep arrays, again and again": (size) => `[${many(size, () => `${"[".repeat(100)}1.0${"]".repeat(100)},`)}1]`,
  "arrays of what is respelt": (size) => `[${many(size, () => "1.0, ")}1]`,
  "nothing but space": (size) => " ".repeat(size),
  "a string of escapes": (size) => `"${"\\n".repeat(size / 2)}"`,
  "a string of backslashes without an end": (size) => `"${"\\\\".repeat(size / 2)}`,
  "strings with one escape each": (size) => `[${many(size, () => '"\\u00e9",')}1]`,
  "a long number": (size) => "1".repeat(size),
  "a long fraction": (size) => `0.${"0".repeat(size)}1`,
  "signs and points": (size) => "-.e+".repeat(size / 4),
  "opened and never closed": (size) => "[".repeat(size),
  "no JSON at its end": (size) => `[${many(size, () => "1,")}`,
};
isLinear("JSON", documents, 12, (text) => canonicalJson(text));
const tree = fieldTreeOf(["a.b", "1000000"]);
isLinear("JSON of which some members count", documents, 12, (text) => canonicalJson(text, tree));

const forms: Texts = {
  "names and values": (size) => many(size, (index) => `n${index % 9}=v&`),
  "nothing but ampersands": (size) => "&".repeat(size),
  "nothing but equals signs": (size) => "=".repeat(size),
  "one long pair": (size) => "a".repeat(size),
  escapes: (size) => "%41".repeat(size / 3),
  "escapes that are none": (size) => "%".repeat(size),
  "plus signs": (size) => "+".repeat(size),
  "brackets that open": (size) => "[".repeat(size),
  "brackets that close": (size) => "]".repeat(size),
  "brackets that open, then one that closes": (size) => `${"[".repeat(size)}]`,
  "brackets within brackets": (size) => `a${"[b".repeat(size / 4)}${"]".repeat(size / 4)}`,
  "many names with brackets": (size) => many(size, () => "a[b][c]=1&"),
};
isLinear("a form", forms, 24, (text) => canonicalForm(Buffer.from(text)));
isLinear("a form of which some fields count", forms, 40, (text) => canonicalForm(Buffer.from(text), ["a.b", "c"]));

describe("the name of a field", () => {
  // A regular expression would look for the end of each bracket anew, which no count of calls shows: minutes.
  it("of many brackets is read at once", () => {
    expect(isFieldNamed("[".repeat(300_000), ["a"])).toBe(false);
    expect(isFieldNamed(`a${"[".repeat(300_000)}]`, ["a"])).toBe(true);
  }, 60_000);
});

const headers: Texts = {
  letters: (size) => "a".repeat(size),
  spaces: (size) => " ".repeat(size),
  "spaces around": (size) => `${" ".repeat(size / 2)}k${"\t".repeat(size / 2)}`,
  quotes: (size) => '"'.repeat(size),
  "a quoted text": (size) => `"${"a".repeat(size)}"`,
  "a quoted text without an end": (size) => `"${"a".repeat(size)}`,
  "backslashes in quotes": (size) => `"${"\\\\".repeat(size / 2)}"`,
  "parameters without values": (size) => `"k"${many(size, (index) => `;a${index}`)}`,
  "parameters with values": (size) => `"k"${many(size, (index) => `;a${index}="b"`)}`,
  "a parameter without an end": (size) => `"k";a="${"b".repeat(size)}`,
  "parameters, then one without an end": (size) => `"k"${many(size, (index) => `;a${index}=1`)};z="`,
  semicolons: (size) => `"k"${";".repeat(size)}`,
  "semicolons and spaces": (size) => `"k"${"; ".repeat(size / 2)}`,
  commas: (size) => ",".repeat(size),
  "tags in a list": (size) => many(size, () => '"abc",'),
  "quotes in a list": (size) => '",'.repeat(size / 2),
};
for (const profile of [profiles.ietf, { ...profiles.ietf, keyForm: "strict" }, profiles.stripe] as const) {
  isLinear(`the header of the key, ${profile.keyForm}`, headers, 40, (text) => parseKey([text], profile));
}
isLinear("a media type", headers, 40, (text) => parseMediaType(`multipart/form-data${text}`));
isLinear("parameters of a part", headers, 40, (text) => parametersOf(`form-data${text.replace('"k"', "")}`));
isLinear("content codings", headers, 40, (text) => codingsOf([text]));
isLinear("entity tags", headers, 40, (text) => parseEntityTags(text));

const targets: Texts = {
  "a long path": (size) => `/${"a".repeat(size)}`,
  escapes: (size) => `/${"%7e".repeat(size / 3)}`,
  "percent signs": (size) => `/${"%".repeat(size)}`,
  "question marks": (size) => `/${"?".repeat(size)}`,
  parameters: (size) => `/?${many(size, (index) => `${wide(index)}=1&`)}`,
  "ampersands alone": (size) => `/?${"&".repeat(size)}`,
  "an authority without an end": (size) => `http://${"a".repeat(size)}`,
};
isLinear("a target", targets, 40, (text) => comparableTarget(text));

describe("a body in chunks", () => {
  const body = Buffer.alloc(100_000, '{"a":1}');
  const sizes = [1, 2, 3, 17, 256, 1_000, 4_096, 16_384, 65_536, 100_000];

  it.each(sizes)("of %i bytes is put together once, as a web stream", async (size) => {
    let start = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (start >= body.length) return controller.close();
        controller.enqueue(new Uint8Array(body.subarray(start, (start += size))));
      },
    });
    let read: Uint8Array | undefined;
    const copied = await bytesCopied(async () => (read = await readBytes(stream, body.length)));
    expect(Buffer.from(read ?? []).equals(body)).toBe(true);
    expect(copied).toBeLessThanOrEqual(body.length);
  });

  it.each(sizes)("of %i bytes is put together once, as Node's request", async (size) => {
    const request = new IncomingMessage(new Socket());
    request.headers["content-type"] = "application/json";
    const limits = { requestBytesMax: body.length, uploadBytesMax: body.length };
    const capture = captureBytes(request, limits) ?? expect.fail("somebody read it");
    for (let start = 0; start < body.length; start += size) request.push(body.subarray(start, start + size));
    request.complete = true;
    request.push(null);
    let read: Awaited<ReturnType<typeof capture.all>> | undefined;
    const copied = await bytesCopied(async () => (read = await capture.all()));
    expect(read?.kind === "bytes" && Buffer.from(read.bytes).equals(body)).toBe(true);
    expect(copied).toBeLessThanOrEqual(body.length);
  });
});
