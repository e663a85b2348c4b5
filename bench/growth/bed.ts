/** What each store's file gives: a place for its levels, and a level that is open for measuring. */
import type { Store } from "ichido";
import { keyOf } from "./keys.ts";
import { firstFreshOf, keyKindOf, type Level, type StoreName } from "./level.ts";

export interface Bytes {
  readonly all: number;
  /** Indexes beside the table; undefined where there are none. */
  readonly indexes?: number | undefined;
}

/** A record's columns or fields: what is null, and how many bytes the rest has. */
export type Likeness = Readonly<Record<string, number | null>>;

export interface Bed {
  readonly level: Level;
  readonly store: Store;
  /** Of keys that are measured, where it is not that of all. */
  readonly retentionMs?: number;
  /** Records that are best added at once, where it is not so many as anywhere. */
  readonly atOnce?: number;
  /** Adds records by numbers, both included: as completed, within their retention or past it. */
  add(from: number, to: number, isExpired: boolean): Promise<void>;
  /** Removes records, so that a level keeps its size however often it is measured. */
  remove(keys: readonly string[]): Promise<void>;
  likenessOf(key: string): Promise<Likeness | undefined>;
  bytes(): Promise<Bytes>;
  /** How much the server has written to its log, in bytes, since whenever it counts from. */
  logged?(): Promise<number>;
  /** Brings the indexes to memory, as a server that has run for long has them there; the records stay where they are. */
  warm?(): Promise<void>;
  /** After much was added or removed: what the database does by itself within minutes. */
  settle?(): Promise<void>;
  close(): Promise<void>;
}

/** To fill, a server need not wait for the disk: what lies there afterwards is the same. */
export type Purpose = "fill" | "measure";

export interface Place {
  readonly store: StoreName;
  readonly version: string;
  /** Its settings for measuring, in words. */
  readonly settings: string;
  /** A new, empty level in place of what is left of one. */
  create(level: Level): Promise<Bed>;
  open(level: Level): Promise<Bed>;
  close(): Promise<void>;
}

export const keyIn = (level: Level, number: number): string => keyOf(keyKindOf(level), number);

/** Any filled record within its retention. */
export function someKey(level: Level): string {
  const first = firstFreshOf(level);
  return keyIn(level, first + Math.floor(Math.random() * (level.rows - first + 1)));
}
