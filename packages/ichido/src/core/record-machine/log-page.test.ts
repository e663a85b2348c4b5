import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hash } from "../../../../../test/support/sample-record.ts";
import type { RequestOutcome } from "../contract/events.ts";
import type { LoggedAttempt } from "../contract/history.ts";
import type { Key } from "../contract/record.ts";
import { intentWords, PageWriter, readPage, writtenPage, type PageNote } from "./log-page.ts";

const writtenMs = 1_800_000_000_000;
const identity = { key: "key-1" as Key, scopeHash: hash(3), operation: "payment.create" };
const plain: PageNote = { identity, number: 7, outcome: "replayed", tookMs: 2.5, keepMs: 60_000 };

/** As they are numbered in the bytes. */
const outcomes: readonly RequestOutcome[] = [
  "executed",
  "replayed",
  "replayed_after_wait",
  "in_progress",
  "key_reused",
  "key_missing",
  "key_invalid",
  "outcome_unknown",
  "response_not_stored",
  "store_error",
  "refused",
  "bypassed",
];

function packed(notes: readonly PageNote[], agoMs = 0) {
  const writer = new PageWriter();
  for (const [at, note] of notes.entries()) writer.add(note, at);
  return writer.packed(agoMs);
}

const page = (...notes: readonly PageNote[]) => writtenPage({ process: "api-1" }, [packed(notes)]);
const keysOf = (read: readonly LoggedAttempt[]): string[] => read.map(({ record }) => record.key);
const named = (key: string): PageNote => ({ ...plain, identity: { ...identity, key: key as Key } });

describe("a note in a page", () => {
  it("S21 tells nothing that it was not told", () => {
    const [note] = readPage(page(plain).bytes, writtenMs);
    expect(note).toStrictEqual({
      record: identity,
      atMs: writtenMs,
      tookMs: 2.5,
      outcome: "replayed",
      number: 7,
      process: "api-1",
    });
  });

  it("S21 tells of a run its attempt and fence, of equal answers how many and when the last, and of which release", () => {
    const writer = new PageWriter();
    writer.add(
      { ...plain, outcome: "executed", status: 201, attempt: 2, fence: 2 ** 50 + 1, observed: true },
      30,
      4,
      500,
    );
    const { bytes } = writtenPage({ process: "api-1", release: "v7" }, [writer.packed(100)]);
    expect(readPage(bytes, writtenMs)).toStrictEqual([
      {
        record: identity,
        atMs: writtenMs - 70,
        tookMs: 2.5,
        outcome: "executed",
        observed: true,
        status: 201,
        attempt: 2,
        fence: 2 ** 50 + 1,
        count: 4,
        lastAtMs: writtenMs - 70 + 500,
        number: 7,
        process: "api-1",
        release: "v7",
      },
    ]);
  });

  it("is not observed where that is said, and a run without a number is attempt 0", () => {
    const [note] = readPage(page({ ...plain, observed: false, fence: 3 }).bytes, writtenMs);
    expect(note).toMatchObject({ attempt: 0, fence: 3 });
    expect(note).not.toHaveProperty("observed");
  });

  it("keeps to the bounds of its columns", () => {
    const writer = new PageWriter();
    writer.add({ ...plain, tookMs: 1e12, attempt: 1e6, fence: 1 }, 0, 2, 1e12);
    const [note] = readPage(writtenPage({ process: "api-1" }, [writer.packed(0)]).bytes, writtenMs);
    expect(note).toMatchObject({ tookMs: 4_294_967.295, attempt: 65_535, lastAtMs: writtenMs + 4_294_967_295 });
  });

  it("was asked at a whole millisecond, also before the zero of the page", () => {
    const writer = new PageWriter();
    for (const atMs of [-1_000.25, 0.75]) writer.add(plain, atMs);
    const { bytes } = writtenPage({ process: "api-1" }, [writer.packed(10)]);
    expect(readPage(bytes, writtenMs).map(({ atMs }) => atMs - writtenMs)).toEqual([-1_011, -10]);
  });

  it.each(["key-1", "schlüssel", "鍵", "🔑", "\ud83d", "\udd11key", "k".repeat(255), "é".repeat(255), "~ !"])(
    "keeps the key %j, unit by unit",
    (key) => {
      expect(keysOf(readPage(page(named(key), plain).bytes, writtenMs))).toEqual([key, "key-1"]);
    },
  );

  it("of an outcome that this version does not know is a refusal", () => {
    const [note] = readPage(page({ ...plain, outcome: "dreamt" as RequestOutcome }).bytes, writtenMs);
    expect(note?.outcome).toBe("refused");
  });

  it("lies where it lay in the first version: what is written stays readable", () => {
    const { bytes } = page({ ...plain, outcome: "bypassed", status: 503, attempt: 2, fence: 9, observed: true });
    expect(bytes.toString("latin1", 4, 4 + bytes.readUInt32BE(0))).toBe(
      '{"process":"api-1","parts":[{"count":1,"operations":["payment.create"],"agoMs":0}]}',
    );
    const start = 4 + bytes.readUInt32BE(0);
    const columns = { outcome: bytes[start], flags: bytes[start + 1], status: bytes.readUInt16BE(start + 2) };
    expect(columns).toEqual({ outcome: 11, flags: 7, status: 503 });
    expect([bytes.readUInt32BE(start + 4), bytes.readDoubleBE(start + 8)], "number, time").toEqual([7, 0]);
    expect([bytes.readUInt32BE(start + 16), bytes.readUInt32BE(start + 20)], "took, count").toEqual([2_500, 1]);
    expect([bytes.readDoubleBE(start + 24), bytes.readUInt16BE(start + 32)], "fence, attempt").toEqual([9, 2]);
    expect([bytes.readUInt16BE(start + 34), bytes.readUInt16BE(start + 36)], "operation, key").toEqual([0, 5]);
    expect(bytes.readUInt32BE(start + 40), "spread").toBe(0);
    expect(bytes.subarray(start + 44, start + 76)).toEqual(Buffer.from(hash(3)));
    expect(bytes.toString("latin1", start + 76)).toBe("key-1");
  });

  it.each(outcomes)("has its number of %s for ever", (each) => {
    const { bytes } = page({ ...plain, outcome: each });
    expect(bytes[4 + bytes.readUInt32BE(0)]).toBe(outcomes.indexOf(each));
    expect(readPage(bytes, writtenMs)[0]?.outcome).toBe(each);
  });
});

const outcome = fc.constantFrom(...outcomes);
const run = fc.record({ attempt: fc.nat(65_535), fence: fc.maxSafeNat() });
const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const written = fc.record({
  key: fc.oneof(
    fc.string({ minLength: 1, maxLength: 255 }),
    fc.string({ unit: "binary", minLength: 1, maxLength: 80 }),
  ),
  scopeHash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  operation: fc.constantFrom("payment.create", "order.create", "é"),
  number: fc.nat(0xffff_ffff),
  outcome,
  observed: optional(fc.constant(true as const)),
  tookMs: fc.nat(1_000_000),
  status: optional(fc.integer({ min: 100, max: 599 })),
  run: optional(run),
  atMs: fc.integer({ min: -1_000_000, max: 1_000_000 }),
  count: fc.integer({ min: 1, max: 1_000 }),
  spreadMs: fc.nat(1_000_000),
});
type Written = typeof written extends fc.Arbitrary<infer T> ? T : never;

function add(
  writer: PageWriter,
  { key, scopeHash, operation, run: ran, atMs, count, spreadMs, ...note }: Written,
): void {
  writer.add(
    { ...note, ...ran, identity: { key: key as Key, scopeHash, operation }, keepMs: 0 },
    atMs,
    count,
    spreadMs,
  );
}

function expected(note: Written, zeroMs: number): LoggedAttempt {
  const { key, scopeHash, operation, number, tookMs, status, observed, count, spreadMs } = note;
  const atMs = zeroMs + note.atMs;
  return {
    record: { key: key as Key, scopeHash, operation },
    number,
    outcome: note.outcome,
    atMs,
    tookMs,
    ...(observed !== undefined && { observed }),
    ...(status !== undefined && { status }),
    ...note.run,
    ...(count > 1 && { count, lastAtMs: atMs + spreadMs }),
    process: "api-1",
  };
}

it("S21 whatever was written, in however many parts, is read as it was, from any place on", () => {
  const parts = fc.array(fc.record({ agoMs: fc.nat(100_000), notes: fc.array(written, { maxLength: 40 }) }), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(parts, fc.nat(60), fc.nat(60), (given, from, most) => {
      const packs = given.map(({ agoMs, notes }) => {
        const writer = new PageWriter();
        for (const note of notes) add(writer, note);
        return writer.packed(agoMs);
      });
      const whole = writtenPage({ process: "api-1" }, packs);
      const all = given.flatMap(({ agoMs, notes }) => notes.map((note) => expected(note, writtenMs - agoMs)));
      expect(whole.count).toBe(all.length);
      expect(readPage(whole.bytes, writtenMs)).toStrictEqual(all);
      expect(readPage(whole.bytes, writtenMs, from, most)).toStrictEqual(all.slice(from, from + most));
    }),
    { numRuns: 50 },
  );
});

describe("a page", () => {
  it("grows beyond its first room, and gives out the bytes that were written and no more", () => {
    const writer = new PageWriter();
    const notes = Array.from({ length: 1_000 }, (_, at) => named(`key-${at}`));
    for (const note of notes) writer.add(note, 0);
    expect(writer.count).toBe(1_000);
    const bytesOf = notes.reduce((sum, note) => sum + 76 + note.identity.key.length, 0);
    expect([writer.byteLength, writer.packed(0).notes.length]).toEqual([bytesOf, bytesOf]);
    const { bytes } = writtenPage({ process: "api-1" }, [writer.packed(0)]);
    expect(keysOf(readPage(bytes, writtenMs))).toEqual(notes.map((note) => note.identity.key));
  });

  it("is empty before its first note", () => {
    const writer = new PageWriter();
    expect([writer.count, writer.byteLength]).toEqual([0, 0]);
    expect(writer.packed(5)).toEqual({
      count: 0,
      notes: Buffer.alloc(0),
      intents: new Uint32Array(),
      operations: [],
      agoMs: 5,
      keepMs: 0,
    });
    const nothing = writtenPage({ process: "api-1" }, []);
    expect([nothing.count, nothing.intents.length, nothing.keepMs]).toEqual([0, 0, 0]);
    expect(readPage(nothing.bytes, writtenMs)).toEqual([]);
  });

  it("names each operation once, and keeps as long as the note that is kept longest", () => {
    const other = { ...plain, identity: { ...identity, operation: "order.create" }, keepMs: 90_000 };
    const { operations, keepMs, count } = packed([plain, other, plain, other]);
    expect([operations, keepMs, count]).toEqual([["payment.create", "order.create"], 90_000, 4]);
    const shorter = packed([plain]);
    expect(writtenPage({ process: "api-1" }, [shorter, packed([other]), shorter]).keepMs).toBe(90_000);
    const read = readPage(page(plain, other, plain).bytes, writtenMs);
    expect(read.map(({ record }) => record.operation)).toEqual(["payment.create", "order.create", "payment.create"]);
  });

  it("is read where it lies inside other bytes", () => {
    const { bytes } = page(plain);
    const around = Buffer.concat([Buffer.from([9, 9, 9]), bytes, Buffer.from([9])]);
    expect(readPage(around.subarray(3, -1), writtenMs)).toEqual(readPage(bytes, writtenMs));
  });

  it("gives out hashes of their own: the page may be let go", () => {
    const { bytes } = page(plain);
    const [note] = readPage(bytes, writtenMs);
    bytes.fill(0);
    expect(note?.record.scopeHash).toEqual(hash(3));
  });
});

describe("intents of a page", () => {
  const canonical = (byte: number): Uint8Array => Uint8Array.from({ length: 32 }, (_, at) => (byte + at) & 0xff);
  const first = (byte: number, scope = 3): PageNote => ({
    ...plain,
    identity: { ...identity, scopeHash: hash(scope) },
    canonical: canonical(byte),
  });
  const wordsOf = (intents: Uint32Array): number[][] =>
    Array.from({ length: intents.length / intentWords }, (_, at) => [
      ...intents.subarray(at * intentWords, (at + 1) * intentWords),
    ]);

  it("S22 are of first runs alone: caller, operation and content, which note, how long before the writing", () => {
    const writer = new PageWriter();
    writer.add(plain, 0);
    writer.add(first(0x10), 20.4);
    writer.add(plain, 30);
    writer.add(first(0xf0), -50.6);
    const { intents } = writtenPage({ process: "api-1" }, [writer.packed(100)]);
    expect(wordsOf(intents)).toEqual([
      [0x10111213 ^ 0x03030303, 0x14151617 ^ 0x03030303, 1, 80],
      [(0xf0f1f2f3 ^ 0x03030303) >>> 0, (0xf4f5f6f7 ^ 0x03030303) >>> 0, 3, 151],
    ]);
  });

  it("S22 of one content differ by their scope", () => {
    const [one, other, same] = wordsOf(packed([first(1, 3), first(1, 4), first(1, 3)]).intents);
    expect(one?.slice(0, 2)).toEqual(same?.slice(0, 2));
    expect([one?.[0] === other?.[0], one?.[1] === other?.[1]]).toEqual([false, false]);
  });

  it("S22 count their notes through all parts of a page", () => {
    const parts = [packed([plain, first(1)], 10), packed([first(2), plain, first(3)], 20)];
    const { intents } = writtenPage({ process: "api-1" }, parts);
    expect(wordsOf(intents).map(([, , note, agoMs]) => [note, agoMs])).toEqual([
      [1, 9],
      [2, 20],
      [4, 18],
    ]);
  });

  it("were never after the writing", () => {
    const writer = new PageWriter();
    writer.add(first(1), 500);
    expect(wordsOf(writtenPage({ process: "api-1" }, [writer.packed(100)]).intents)[0]?.[3]).toBe(0);
  });

  it("are all there, beyond the room of the beginning", () => {
    const notes = Array.from({ length: 300 }, (_, at) => first(at & 0xff));
    const words = wordsOf(packed(notes).intents);
    expect(words.map(([, , note]) => note)).toEqual(notes.map((_, at) => at));
    expect(words.map(([low]) => low)).toEqual(
      notes.map((note) => (Buffer.from(note.canonical ?? []).readUInt32BE(0) ^ 0x03030303) >>> 0),
    );
  });
});
