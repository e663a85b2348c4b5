/** What stores keep as text where they have no type for it, and the pages and words that they share. */
import type { RequestOutcome } from "../core/contract/events.ts";
import { IchidoError } from "../core/contract/errors.ts";
import type { ForgetResult } from "../core/contract/history.ts";
import { integerOption } from "../core/contract/option-checks.ts";
import type { HeaderLine, StoredResponse, WrittenState } from "../core/contract/record.ts";
import type { ListPage, SettleResult, StoredRecord } from "../core/contract/store.ts";

/** Header lines as one JSON text, order and multiplicity preserved. */
export function encodeHeaders(lines: readonly HeaderLine[]): string {
  return JSON.stringify(lines);
}

/**
 * JSON that a store wrote. A `TypeError` where it is none, as for all other damage: it says that the record is damaged
 * and not that the server is out of reach, which others who asked at the same time would be told as well.
 */
export function storedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TypeError("stored JSON is damaged");
  }
}

/** The text was written by `encodeHeaders`; anything else in its place is a damaged record and throws. */
export function decodeHeaders(text: string): readonly HeaderLine[] {
  const lines = storedJson(text);
  if (!Array.isArray(lines) || !lines.every(isLine)) throw new TypeError("stored header lines are damaged");
  return lines;
}

function isLine(line: unknown): line is HeaderLine {
  return Array.isArray(line) && line.length === 2 && typeof line[0] === "string" && typeof line[1] === "string";
}

const kinds: readonly StoredResponse["kind"][] = ["full", "tombstone"];

/** Of an answer. Taken for a full one, what was never stored would be replayed as empty. */
export function kindOf(word: unknown): StoredResponse["kind"] {
  const kind = kinds.find((each) => each === word);
  if (kind === undefined) throw new TypeError("the stored kind of an answer is damaged");
  return kind;
}

const states: readonly WrittenState[] = ["processing", "completed", "failed"];

/** A state that no rule knows would be taken for one that may run. */
export function stateOf(word: unknown): WrittenState {
  const state = states.find((each) => each === word);
  if (state === undefined) throw new TypeError("the stored state of a record is damaged");
  return state;
}

export type Labels = Readonly<Record<string, string>>;

/** One JSON object, names sorted, so that equal labels are equal texts; none at all is no text. */
export function encodeLabels(labels: Labels | undefined): string | null {
  if (labels === undefined) return null;
  const names = Object.keys(labels).toSorted();
  if (names.length === 0) return null;
  // Pairs, not an object literal: a label may be called `__proto__`.
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, labels[name]])));
}

export function decodeLabels(text: string | null): Labels {
  if (text === null) return {};
  const value = storedJson(text);
  if (!isLabels(value)) throw new TypeError("stored labels are damaged");
  return value;
}

function isLabels(value: unknown): value is Labels {
  return typeof value === "object" && value !== null && Object.values(value).every((part) => typeof part === "string");
}

/** A place in a listing ordered by key, then by scope hash: `base64url(scope hash).base64url(key)`. */
export interface Position {
  readonly key: string;
  readonly scopeHash: Uint8Array;
}

const scopeHashBytes = 32;

export function encodeCursor({ key, scopeHash }: Position): string {
  return `${Buffer.from(scopeHash).toString("base64url")}.${Buffer.from(key, "utf8").toString("base64url")}`;
}

export function decodeCursor(cursor: string): Position {
  const [hash, key, ...rest] = cursor.split(".");
  const scopeHash = Buffer.from(hash ?? "", "base64url");
  if (key === undefined || rest.length > 0 || scopeHash.length !== scopeHashBytes) {
    throw new IchidoError("option-invalid", "cursor: expected the value a former page gave; start again without one");
  }
  return { key: Buffer.from(key, "base64url").toString("utf8"), scopeHash: new Uint8Array(scopeHash) };
}

/** A cursor in what was written one after the other. */
export function placeOf(cursor: string): number {
  const place = Number(cursor);
  if (/^\d{1,16}$/.test(cursor) && Number.isSafeInteger(place)) return place;
  throw new IchidoError("option-invalid", "cursor: expected the value a former page gave; start again without one");
}

const outcomes: Readonly<Record<RequestOutcome, true>> = {
  executed: true,
  replayed: true,
  replayed_after_wait: true,
  in_progress: true,
  key_reused: true,
  key_missing: true,
  key_invalid: true,
  outcome_unknown: true,
  response_not_stored: true,
  store_error: true,
  refused: true,
  bypassed: true,
};

/** Of a logged attempt. A word of a later release must not hide the attempts around it. */
export function outcomeOf(word: unknown): RequestOutcome {
  return typeof word === "string" && Object.hasOwn(outcomes, word) ? (word as RequestOutcome) : "refused";
}

const limitMax = 1_000;

export function checkLimit(limit: unknown): void {
  integerOption("limit", limit, 1, limitMax);
}

/** A page of rows. A query reads one row more than the page holds: that row shows that there is another page. */
export function pageOf<Row>(rows: readonly Row[], limit: number, recordOf: (row: Row) => StoredRecord): ListPage {
  const records = rows.slice(0, limit).map((row) => recordOf(row));
  const last = records.at(-1)?.identity;
  return { records, ...(rows.length > limit && last !== undefined && { cursor: encodeCursor(last) }) };
}

const settleResults: readonly SettleResult[] = ["ok", "stale", "absent", "live", "completed"];

/** Reads the server's answer to a settlement. */
export function settleResultOf(word: string): SettleResult {
  return settleResults.find((each) => each === word) ?? "stale";
}

const forgetResults: readonly ForgetResult[] = ["ok", "absent", "stale", "live", "unknown", "forgotten"];

/** Reads the server's answer to a request to forget. */
export function forgetResultOf(word: string): ForgetResult {
  return forgetResults.find((each) => each === word) ?? "stale";
}
