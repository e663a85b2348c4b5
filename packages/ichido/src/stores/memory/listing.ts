import { Buffer } from "node:buffer";
import type { ListPage, ListQuery, StoreStats } from "../../core/store.ts";
import { dueMs, isExpired, isUnknown, toRecord, type Row } from "./row.ts";

const listLimitMax = 1_000;

/** A cursor is the place of the last record given: the next page begins after it, whatever was added meanwhile. */
interface Place {
  readonly key: string;
  readonly scopeHash: Uint8Array;
}

export function list(rows: Iterable<Row>, query: ListQuery, nowMs: number): ListPage {
  const after = query.cursor === undefined ? undefined : placeOf(query.cursor);
  const found: Row[] = [];
  for (const row of rows) {
    if (matches(row, query, nowMs) && (after === undefined || comparePlaces(row.identity, after) > 0)) found.push(row);
  }
  found.sort((a, b) => comparePlaces(a.identity, b.identity));
  const page = found.slice(0, Math.max(0, Math.min(query.limit, listLimitMax)));
  const last = page.at(-1);
  return {
    records: page.map((row) => toRecord(row, nowMs, "without bodies")),
    ...(last === undefined || page.length === found.length ? {} : { cursor: cursorOf(last.identity) }),
  };
}

function matches(row: Row, query: ListQuery, nowMs: number): boolean {
  const { identity } = row;
  return (
    (query.tenant === undefined || query.tenant === identity.tenant) &&
    (query.principal === undefined || query.principal === identity.principal) &&
    (query.operation === undefined || query.operation === identity.operation) &&
    (query.key === undefined || query.key === identity.key) &&
    (query.label === undefined ||
      (Object.hasOwn(row.labels, query.label.name) && row.labels[query.label.name] === query.label.value)) &&
    (query.state === undefined || (query.state === "unknown" ? isUnknown(row, nowMs) : query.state === row.state))
  );
}

export function stats(rows: Iterable<Row>, nowMs: number): StoreStats {
  const count = { records: 0, processing: 0, completed: 0, failed: 0, unknown: 0, bodyBytes: 0 };
  let sweepLagMs = 0;
  let oldestUnknownMs = 0;
  for (const row of rows) {
    count.records += 1;
    count[row.state] += 1;
    count.bodyBytes += (row.response?.body.length ?? 0) + (row.interim?.body.length ?? 0);
    if (isUnknown(row, nowMs)) {
      count.unknown += 1;
      oldestUnknownMs = Math.max(oldestUnknownMs, nowMs - row.createdAtMs);
    }
    if (isExpired(row, nowMs)) sweepLagMs = Math.max(sweepLagMs, nowMs - (dueMs(row) ?? nowMs));
  }
  return { ...count, sweepLagMs, oldestUnknownMs };
}

function comparePlaces(a: Place, b: Place): number {
  return compareAsUtf8(a.key, b.key) || Buffer.compare(a.scopeHash, b.scopeHash);
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

function cursorOf({ key, scopeHash }: Place): string {
  return `${Buffer.from(scopeHash).toString("hex")}.${Buffer.from(key).toString("base64url")}`;
}

function placeOf(cursor: string): Place {
  const [hash = "", key = ""] = cursor.split(".");
  return { key: Buffer.from(key, "base64url").toString(), scopeHash: Buffer.from(hash, "hex") };
}
