/** Listings and sizes, in slices: however large the table, no single read holds up the process for long. */
import type { ListPage, ListQuery, StoredRecord, StoreStats } from "../../core/contract/store.ts";
import { toMs } from "../../core/record-machine/record.ts";
import { leaseEndMaxUs, stateWritten } from "../../core/record-machine/view.ts";
import { checkLimit, decodeCursor, pageOf } from "../encoding.ts";
import type { Row, SqliteValue } from "./database.ts";
import { bytes, integer, orNull, recordOf, text } from "./row.ts";
import type { Session } from "./session.ts";
import type { Statements } from "./statements.ts";

const sliceRows = 5_000;

const { setImmediate } = globalThis;

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A blob sorts after every text, so one in place of the key stands for the end of the table. */
type Bound = readonly [key: string | Uint8Array, scopeHash: Uint8Array];

const none = new Uint8Array();
const start: Bound = ["", none];
const end: Bound = [none, none];
/** Longer than any scope hash and so after all of them. */
const afterHashes = new Uint8Array(33).fill(0xff);

export async function list(session: Session, query: ListQuery): Promise<ListPage> {
  checkLimit(query.limit);
  const range = rangeOf(query);
  const records: StoredRecord[] = [];
  let from: Bound | undefined = range.from;
  while (from !== undefined) {
    const after: Bound = from;
    const slice = await session.queue.read(() =>
      readSlice(session, query, after, range.to, query.limit + 1 - records.length),
    );
    records.push(...slice.records);
    if (records.length > query.limit) break;
    from = slice.next;
    if (from !== undefined) await nextTurn();
  }
  return pageOf(records, query.limit, (record) => record);
}

function rangeOf(query: ListQuery): { readonly from: Bound; readonly to: Bound } {
  const cursor = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const from: Bound = cursor === undefined ? start : [cursor.key, cursor.scopeHash];
  if (query.key === undefined) return { from, to: end };
  return { from: cursor?.key === query.key ? from : [query.key, none], to: [query.key, afterHashes] };
}

function readSlice(session: Session, query: ListQuery, from: Bound, to: Bound, limit: number) {
  const { connection, statements } = session;
  const source = sourceOf(statements, query);
  // Within one key there are only as many records as it has scopes: no slice needed.
  const boundary =
    query.key === undefined ? connection.get(source.boundary, ...source.values, ...from, sliceRows - 1) : undefined;
  const next: Bound | undefined =
    boundary === undefined ? undefined : [text(boundary, "key"), bytes(boundary, "scope_hash")];
  const nowUs = session.nowUs();
  const inDoubt = stateWritten(query.state) === "processing" ? Number(query.state === "unknown") : undefined;
  const filters: SqliteValue[] = [
    ...twice(query.tenant),
    ...twice(query.principal),
    ...twice(query.operation),
    ...source.state,
    ...twice(inDoubt),
    nowUs,
    leaseEndMaxUs(nowUs),
    ...source.more,
  ];
  const rows = connection.all(source.slice, ...source.values, ...from, ...(next ?? to), ...filters, limit);
  return { records: rows.map((row) => recordOf(withoutBodies(row), nowUs)), next };
}

function sourceOf(statements: Statements, query: ListQuery) {
  const stored = stateWritten(query.state);
  if (query.resource !== undefined) {
    return {
      boundary: statements.listMadeBoundary,
      slice: statements.listMade,
      values: [query.resource.kind, query.resource.id],
      state: twice(stored),
      more: [...twice(query.label?.name), orNull(query.label?.value)],
    };
  }
  if (query.label !== undefined) {
    return {
      boundary: statements.listLabelledBoundary,
      slice: statements.listLabelled,
      values: [query.label.name, query.label.value],
      state: twice(stored),
      more: [],
    };
  }
  if (stored === "processing" || stored === "failed") {
    return { boundary: statements.listOpenBoundary, slice: statements.listOpen, values: [stored], state: [], more: [] };
  }
  return { boundary: statements.listBoundary, slice: statements.list, values: [], state: twice(stored), more: [] };
}

function twice(value: string | number | undefined): [SqliteValue, SqliteValue] {
  return [orNull(value), orNull(value)];
}

function withoutBodies(row: Row): Row {
  return { ...row, interim_body: null, response_body: null };
}

export async function stats(session: Session): Promise<StoreStats> {
  const sums = { records: 0, processing: 0, completed: 0, failed: 0, unknown: 0, body_bytes: 0 };
  const columns = ["records", "processing", "completed", "failed", "unknown", "body_bytes"] as const;
  let oldestExpiredUs = Number.POSITIVE_INFINITY;
  let oldestUnknownUs = Number.POSITIVE_INFINITY;
  let nowUs = 0;
  for (let after: number | undefined = 0; after !== undefined;) {
    const from: number = after;
    const row = await session.queue.read(() => {
      nowUs = session.nowUs();
      return session.connection.get(session.statements.stats, nowUs, nowUs, leaseEndMaxUs(nowUs), from, sliceRows);
    });
    if (row === undefined) break;
    for (const column of columns) sums[column] += integer(row, column);
    if (row["oldest_expired_us"] !== null)
      oldestExpiredUs = Math.min(oldestExpiredUs, integer(row, "oldest_expired_us"));
    if (row["oldest_unknown_us"] !== null)
      oldestUnknownUs = Math.min(oldestUnknownUs, integer(row, "oldest_unknown_us"));
    after = integer(row, "records") < sliceRows ? undefined : integer(row, "last_row");
    if (after !== undefined) await nextTurn();
  }
  const { body_bytes: bodyBytes, ...counts } = sums;
  const ageMs = (oldestUs: number) => Math.max(0, toMs(nowUs - Math.min(oldestUs, nowUs)));
  return { ...counts, bodyBytes, sweepLagMs: ageMs(oldestExpiredUs), oldestUnknownMs: ageMs(oldestUnknownUs) };
}
