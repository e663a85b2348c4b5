import type { ListPage, ListQuery, StoreStats } from "../../core/contract/store.ts";
import { decodeCursor, encodeCursor } from "../encoding.ts";
import { createTally, matches } from "../../core/record-machine/view.ts";
import { bytesOf, textOf, toRecord, type HashText } from "./row.ts";
import type { Listed } from "./shelf.ts";

const listLimitMax = 1_000;

/** A cursor is the place of the last record given: the next page begins after it, whatever was added meanwhile. */
interface Place {
  readonly key: string;
  readonly scopeHash: HashText;
}

export function list(rows: Iterable<Listed>, query: ListQuery, nowUs: number): ListPage {
  const after = query.cursor === undefined ? undefined : afterCursor(query.cursor);
  const found: Listed[] = [];
  for (const row of rows) {
    if (matches(row, row, row, query, nowUs) && (after === undefined || comparePlaces(row, after) > 0)) found.push(row);
  }
  found.sort((a, b) => comparePlaces(a, b));
  const page = found.slice(0, Math.max(0, Math.min(query.limit, listLimitMax)));
  const last = page.at(-1);
  return {
    records: page.map(({ whole }) => toRecord(whole(), nowUs, "without bodies")),
    ...(last === undefined || page.length === found.length
      ? {}
      : { cursor: encodeCursor({ key: last.key, scopeHash: bytesOf(last.scopeHash) }) }),
  };
}

function afterCursor(cursor: string): Place {
  const { key, scopeHash } = decodeCursor(cursor);
  return { key, scopeHash: textOf(scopeHash) };
}

export function stats(rows: Iterable<Listed>, nowUs: number): StoreStats {
  const tally = createTally();
  for (const row of rows) tally.add(row, row.bodyBytes, nowUs);
  return tally.sum();
}

function comparePlaces(a: Place, b: Place): number {
  return compareAsUtf8(a.key, b.key) || compareAsUtf8(a.scopeHash, b.scopeHash);
}

/** The order of the UTF-8 bytes, without encoding: only surrogates (above U+FFFF) sort differently as UTF-16. */
function compareAsUtf8(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return aboveSurrogates(left) - aboveSurrogates(right);
  }
  return a.length - b.length;
}

function aboveSurrogates(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
