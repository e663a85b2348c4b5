/**
 * What a disk holds after the power went, worked out from the log of `power-cut-shim.c`.
 *
 * The model. What was written to a file before its last successful sync is on the disk. Of what was written since, any
 * part may be: each write is there whole, not at all, or torn at a sector, independently of all others and of their
 * order. A file that was created exists for sure once it or its folder was synced. This is what POSIX leaves open and
 * what ext4, XFS and a disk with a volatile cache make use of. After a sync that failed, what it should have written is
 * in doubt for ever: Linux does not try those pages again unless they are written anew, and later syncs succeed without
 * them. A disk that lies about syncs is not modelled.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const opened = 1;
const written = 2;
const truncated = 3;
const synced = 4;
const removed = 5;
const syncFailed = 6;
const headBytes = 17;
const sectorBytes = 512;

interface Entry {
  readonly op: number;
  readonly path: string;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export type Log = readonly Entry[];

export function readLog(path: string): Log {
  const log = readFileSync(path);
  const paths: string[] = [];
  const entries: Entry[] = [];
  for (let at = 0; at + headBytes <= log.length;) {
    const op = log.readUInt8(at);
    const file = log.readUInt32LE(at + 1);
    const offset = Number(log.readBigUInt64LE(at + 5));
    const length = log.readUInt32LE(at + 13);
    const bytes = log.subarray(at + headBytes, at + headBytes + length);
    at += headBytes + length;
    if (op === opened) paths[file] = bytes.toString("utf8");
    entries.push({ op, path: paths[file] ?? "", offset, bytes });
  }
  return entries;
}

/** A number in [0, 1), the same sequence for the same seed. */
export type Chance = () => number;

/** Grows in steps: a log is written a few bytes at a time. */
class Content {
  #room = Buffer.alloc(0);
  #length = 0;

  resize(length: number): void {
    if (length > this.#room.length) {
      const room = Buffer.alloc(Math.max(length, this.#room.length * 2));
      this.#room.copy(room, 0, 0, this.#length);
      this.#room = room;
    }
    if (length < this.#length) this.#room.fill(0, length, this.#length);
    this.#length = length;
  }

  apply(entry: Entry, from = 0, to = entry.bytes.length): void {
    if (entry.op === truncated) return this.resize(entry.offset);
    this.resize(Math.max(this.#length, entry.offset + to));
    this.#room.set(entry.bytes.subarray(from, to), entry.offset + from);
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }
}

interface File {
  certain: boolean;
  readonly content: Content;
  pending: Entry[];
}

/** Shared memory is rebuilt after a crash and no part of the disk's story. */
const isVolatile = (path: string) => path.endsWith("-shm");

function filesAt(log: Log, cut: number, fate: Fate, chance: Chance): Map<string, File> {
  const files = new Map<string, File>();
  for (const entry of log.slice(0, cut)) {
    if (isVolatile(entry.path)) continue;
    if (entry.op === removed) {
      files.delete(entry.path);
      continue;
    }
    const file = files.get(entry.path) ?? { certain: false, content: new Content(), pending: [] };
    files.set(entry.path, file);
    if (entry.op === written || entry.op === truncated) file.pending.push(entry);
    if (entry.op === syncFailed) applyByFate(file, fate, chance);
    if (entry.op !== synced) continue;
    for (const write of file.pending.splice(0)) file.content.apply(write);
    file.certain = true;
    for (const [path, other] of files) if (path.startsWith(`${entry.path}/`)) other.certain = true;
  }
  return files;
}

/** Which part of the unsynced writes reached the disk. */
export type Fate = "none" | "all" | "some";

/** Writes the files as they are found after a cut before entry `cut`; gives their paths. */
export function afterCut(log: Log, cut: number, fate: Fate, chance: Chance, folder: string): string[] {
  const made: string[] = [];
  for (const [path, file] of filesAt(log, cut, fate, chance)) {
    if (!file.certain && (fate === "none" || (fate === "some" && chance() < 0.5))) continue;
    applyByFate(file, fate, chance);
    const target = join(folder, basename(path));
    writeFileSync(target, file.content.bytes);
    made.push(target);
  }
  return made;
}

function applyByFate(file: File, fate: Fate, chance: Chance): void {
  for (const write of file.pending.splice(0)) {
    const lot = fate === "all" ? 0 : fate === "none" ? 1 : chance();
    if (lot < 0.4) file.content.apply(write);
    else if (lot < 0.6 && write.op === written) applyTorn(file.content, write, chance);
  }
}

/** Some sectors of the write, in no order. */
function applyTorn(content: Content, write: Entry, chance: Chance): void {
  for (let from = 0; from < write.bytes.length;) {
    const to = Math.min(write.bytes.length, from + sectorBytes - ((write.offset + from) % sectorBytes));
    if (chance() < 0.5) content.apply(write, from, to);
    from = to;
  }
}

/** What the process itself saw of a file before entry `cut`, synced or not. */
export function seenAt(log: Log, cut: number, name: string): Buffer {
  const content = new Content();
  for (const entry of log.slice(0, cut)) {
    if (basename(entry.path) !== name) continue;
    if (entry.op === removed) content.resize(0);
    if (entry.op === written || entry.op === truncated) content.apply(entry);
  }
  return content.bytes;
}

/** Places just after a file was written to. */
export function cutsAfterWrites(log: Log, name: string): number[] {
  return log.flatMap((entry, index) => (entry.op === written && basename(entry.path) === name ? [index + 1] : []));
}

export function syncsOf(log: Log, name: string): { readonly succeeded: number; readonly failed: number } {
  const count = (op: number) => log.filter((entry) => entry.op === op && basename(entry.path) === name).length;
  return { succeeded: count(synced), failed: count(syncFailed) };
}
