/**
 * Notes of the attempt log as bytes. A process writes each note here while its request ends: no object of a request is
 * kept until the batch goes, and a batch is one value to the store, however many notes it has.
 */
import type { RequestOutcome } from "../contract/events.ts";
import type { LoggedAttempt, PackedNotes } from "../contract/history.ts";
import type { Identity, Key } from "../contract/record.ts";

/** A note as it is written. */
export interface PageNote {
  readonly identity: Pick<Identity, "key" | "scopeHash" | "operation">;
  readonly number: number;
  readonly outcome: RequestOutcome;
  readonly observed?: boolean | undefined;
  readonly tookMs: number;
  readonly status?: number | undefined;
  readonly attempt?: number | undefined;
  readonly fence?: number | undefined;
  readonly canonical?: Uint8Array | undefined;
  readonly keepMs: number;
}

/** New ones go to the end: what is written stays readable. */
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

const at = { outcome: 0, flags: 1, status: 2, number: 4, atMs: 8, tookUs: 16, count: 20, fence: 24 } as const;
const more = { attempt: 32, operation: 34, keyBytes: 36, spreadMs: 40, scopeHash: 44, key: 76 } as const;
const flag = { observed: 1, status: 2, run: 4, utf16: 8 } as const;

const scopeHashBytes = 32;
const firstBytes = 16_384;
const uint32Max = 0xffff_ffff;
/** Of the longest key, in the widest writing. */
const keyBytesMax = 2_048;
/** Times before the zero of a page stay positive. */
const timeZero = 0x4000_0000;
/** Two halves of the hash, the place of the note, when. */
export const intentWords = 4;

export class PageWriter {
  #view = new DataView(new ArrayBuffer(firstBytes));
  #bytes = Buffer.from(this.#view.buffer);
  #length = 0;
  #intents = new Uint32Array(64 * intentWords);
  #intentCount = 0;
  #operations: string[] = [];
  #keepMs = 0;
  count = 0;

  get byteLength(): number {
    return this.#length;
  }

  /** `atMs`: since the zero of the page. */
  add(note: PageNote, atMs: number, count = 1, spreadMs = 0): void {
    const start = this.#length;
    this.#reserve(start + more.key + keyBytesMax);
    const { key, scopeHash, operation } = note.identity;
    const keyAt = start + more.key;
    let keyBytes = this.#bytes.write(key, keyAt, keyBytesMax, "utf8");
    let flags = note.observed === true ? flag.observed : 0;
    // What is no plain ASCII goes by its code units: not every one of them has a UTF-8.
    if (keyBytes !== key.length) {
      keyBytes = this.#bytes.write(key, keyAt, keyBytesMax, "utf16le");
      flags |= flag.utf16;
    }
    const view = this.#view;
    if (note.status !== undefined) {
      flags |= flag.status;
      view.setUint16(start + at.status, note.status);
    }
    if (note.fence !== undefined) {
      flags |= flag.run;
      view.setFloat64(start + at.fence, note.fence);
      view.setUint16(start + more.attempt, Math.min(note.attempt ?? 0, 0xffff));
    }
    view.setUint8(start + at.outcome, outcomes.indexOf(note.outcome));
    view.setUint8(start + at.flags, flags);
    view.setUint32(start + at.number, note.number);
    view.setFloat64(start + at.atMs, atMs);
    view.setUint32(start + at.tookUs, Math.min(note.tookMs * 1_000, uint32Max));
    view.setUint32(start + at.count, count);
    view.setUint16(start + more.operation, this.#operation(operation));
    view.setUint16(start + more.keyBytes, keyBytes);
    view.setUint32(start + more.spreadMs, Math.min(spreadMs, uint32Max));
    this.#bytes.set(scopeHash, start + more.scopeHash);
    this.#length = keyAt + keyBytes;
    if (note.canonical !== undefined) this.#addIntent(note.canonical, scopeHash, atMs);
    this.#keepMs = Math.max(this.#keepMs, note.keepMs);
    this.count += 1;
  }

  /** `agoMs`: how long ago the zero of its times was. */
  packed(agoMs: number): PackedNotes {
    return {
      count: this.count,
      notes: this.#bytes.subarray(0, this.#length),
      intents: this.#intents.subarray(0, this.#intentCount * intentWords),
      operations: this.#operations,
      agoMs,
      keepMs: this.#keepMs,
    };
  }

  #operation(name: string): number {
    const known = this.#operations.indexOf(name);
    return known === -1 ? this.#operations.push(name) - 1 : known;
  }

  /** Of caller, operation and content together: the scope's hash holds the first two. */
  #addIntent(canonical: Uint8Array, scopeHash: Uint8Array, atMs: number): void {
    const place = this.#intentCount * intentWords;
    if (place === this.#intents.length) {
      const wider = new Uint32Array(place * 2);
      wider.set(this.#intents);
      this.#intents = wider;
    }
    this.#intents[place] = wordOf(canonical, 0) ^ wordOf(scopeHash, 0);
    this.#intents[place + 1] = wordOf(canonical, 4) ^ wordOf(scopeHash, 4);
    this.#intents[place + 2] = this.count;
    this.#intents[place + 3] = Math.round(atMs) + timeZero;
    this.#intentCount += 1;
  }

  #reserve(length: number): void {
    if (length <= this.#bytes.length) return;
    const wider = Buffer.from(new ArrayBuffer(Math.max(length, this.#bytes.length * 2)));
    wider.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = wider;
    this.#view = new DataView(wider.buffer);
  }
}

function wordOf(bytes: Uint8Array, from: number): number {
  const byte = (place: number): number => bytes[from + place] ?? 0;
  return ((byte(0) << 24) | (byte(1) << 16) | (byte(2) << 8) | byte(3)) >>> 0;
}

/** What a page says of all its notes. */
export interface PageHead {
  readonly process: string;
  readonly release?: string;
  /** One after the other; `agoMs`: from the zero of its times to the moment of writing. */
  readonly parts: readonly {
    readonly count: number;
    readonly operations: readonly string[];
    readonly agoMs: number;
  }[];
}

/** A page as it is stored, and the intents in it: words as above, but with how long before the writing it was. */
export interface WrittenPage {
  readonly count: number;
  readonly bytes: Buffer;
  readonly intents: Uint32Array;
  readonly keepMs: number;
}

export function writtenPage(
  { process, release }: Pick<PageHead, "process" | "release">,
  packed: readonly PackedNotes[],
): WrittenPage {
  const parts = packed.map(({ count, operations, agoMs }) => ({ count, operations, agoMs }));
  const head = Buffer.from(JSON.stringify({ process, release, parts } satisfies { [Name in keyof PageHead]: unknown }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  const intents = new Uint32Array(packed.reduce((sum, each) => sum + each.intents.length, 0));
  let [place, count] = [0, 0];
  for (const part of packed) {
    for (let from = 0; from < part.intents.length; from += intentWords, place += intentWords) {
      intents[place] = part.intents[from] ?? 0;
      intents[place + 1] = part.intents[from + 1] ?? 0;
      intents[place + 2] = count + (part.intents[from + 2] ?? 0);
      intents[place + 3] = Math.max(0, part.agoMs - ((part.intents[from + 3] ?? 0) - timeZero));
    }
    count += part.count;
  }
  return {
    count,
    bytes: Buffer.concat([length, head, ...packed.map(({ notes }) => notes)]),
    intents,
    keepMs: Math.max(0, ...packed.map(({ keepMs }) => keepMs)),
  };
}

interface Placed {
  readonly buffer: Buffer;
  readonly head: PageHead;
  readonly start: number;
}

function headOf(bytes: Uint8Array): Placed {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 4 + buffer.readUInt32BE(0);
  return { buffer, head: JSON.parse(buffer.toString("utf8", 4, start)) as PageHead, start };
}

/** Notes of a page that was written at `writtenMs`, in the order of writing, from place `from` on. */
export function readPage(bytes: Uint8Array, writtenMs: number, from = 0, most = Number.POSITIVE_INFINITY) {
  const { buffer, head, start } = headOf(bytes);
  const found: LoggedAttempt[] = [];
  let [place, passed] = [start, 0];
  for (const { count, operations, agoMs } of head.parts) {
    for (let left = count; left > 0 && found.length < most; left -= 1, passed += 1) {
      if (passed >= from) found.push(noteAt(buffer, place, head, operations, writtenMs - agoMs));
      place += more.key + buffer.readUInt16BE(place + more.keyBytes);
    }
  }
  return found;
}

function noteAt(
  buffer: Buffer,
  start: number,
  { process, release }: PageHead,
  operations: readonly string[],
  zeroMs: number,
): LoggedAttempt {
  const flags = buffer.readUInt8(start + at.flags);
  const keyAt = start + more.key;
  const keyEnd = keyAt + buffer.readUInt16BE(start + more.keyBytes);
  const count = buffer.readUInt32BE(start + at.count);
  const atMs = Math.floor(zeroMs + buffer.readDoubleBE(start + at.atMs));
  return {
    record: {
      key: buffer.toString((flags & flag.utf16) === 0 ? "utf8" : "utf16le", keyAt, keyEnd) as Key,
      scopeHash: new Uint8Array(buffer.subarray(start + more.scopeHash, start + more.scopeHash + scopeHashBytes)),
      operation: operations[buffer.readUInt16BE(start + more.operation)] ?? "",
    },
    atMs,
    tookMs: buffer.readUInt32BE(start + at.tookUs) / 1_000,
    outcome: outcomes[buffer.readUInt8(start + at.outcome)] ?? "refused",
    ...((flags & flag.observed) !== 0 && { observed: true }),
    ...((flags & flag.status) !== 0 && { status: buffer.readUInt16BE(start + at.status) }),
    ...((flags & flag.run) !== 0 && {
      attempt: buffer.readUInt16BE(start + more.attempt),
      fence: buffer.readDoubleBE(start + at.fence),
    }),
    ...(count > 1 && { count, lastAtMs: atMs + buffer.readUInt32BE(start + more.spreadMs) }),
    number: buffer.readUInt32BE(start + at.number),
    process,
    ...(release !== undefined && { release }),
  };
}
