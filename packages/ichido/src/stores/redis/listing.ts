/** Listing and counting, each by a walk over all records: for people and dashboards, not for requests. */
import type { Environment } from "../../core/contract/environment.ts";
import { IchidoError } from "../../core/contract/errors.ts";
import type { ListPage, ListQuery, StoredRecord, StoreStats } from "../../core/contract/store.ts";
import { type Position, checkLimit, decodeCursor, pageOf } from "../encoding.ts";
import { createTally, matches, recordView } from "../../core/record-machine/view.ts";
import type { Row } from "./row.ts";
import { start, type Page, type Place } from "./walk.ts";

export interface Walk {
  readonly environment: Environment;
  readonly timeoutMs: number;
  page(place: Place): Promise<Page>;
}

async function forEachRow(walk: Walk, visit: (name: string, row: Row, nowUs: number) => void): Promise<void> {
  const untilMs = walk.environment.monotonicMs() + walk.timeoutMs;
  for (let place: Place | undefined = start; place !== undefined;) {
    if (walk.environment.monotonicMs() >= untilMs) {
      throw new IchidoError(
        "store-unavailable",
        `Redis: the walk over all keys took more than scanTimeoutMs (${walk.timeoutMs}); raise it or keep fewer keys`,
      );
    }
    const page: Page = await walk.page(place);
    for (const { name, row } of page.rows) visit(name, row, page.nowUs);
    place = page.next;
  }
}

/** Holds no more than a few pages of records at any time. */
export async function list(walk: Walk, query: ListQuery): Promise<ListPage> {
  const { limit } = query;
  checkLimit(limit);
  const after = query.cursor === undefined ? undefined : sortable(decodeCursor(query.cursor));
  const found = new Map<string, { readonly record: StoredRecord; readonly place: Sortable }>();
  const least = () => [...found].toSorted(([, one], [, other]) => compare(one.place, other.place)).slice(0, limit + 1);
  await forEachRow(walk, (name, row, nowUs) => {
    if (!matches(row.identity, row, row, query, nowUs)) return;
    const place = sortable(row.identity);
    if (after !== undefined && compare(place, after) <= 0) return;
    found.set(name, { record: recordView(row, row, nowUs), place });
    if (found.size < 4 * (limit + 1)) return;
    const kept = least();
    found.clear();
    for (const [each, value] of kept) found.set(each, value);
  });
  return pageOf(least(), limit, ([, { record }]) => record);
}

export async function stats(walk: Walk): Promise<StoreStats> {
  const tally = createTally();
  const seen = new Set<number>();
  await forEachRow(walk, (name, row, nowUs) => {
    const mark = markOf(name);
    if (seen.has(mark)) return;
    seen.add(mark);
    tally.add(row, row.bodyBytes, nowUs);
  });
  return tally.sum();
}

/** 48 bits of the digest: SCAN may give a key twice, and whole names of a million records would fill the heap. */
function markOf(name: string): number {
  return Buffer.from(name.slice(name.indexOf("{") + 1, -1), "base64url").readUIntBE(0, 6);
}

interface Sortable {
  readonly key: Buffer;
  readonly scopeHash: Uint8Array;
}

function sortable({ key, scopeHash }: Position): Sortable {
  return { key: Buffer.from(key, "utf8"), scopeHash };
}

function compare(one: Sortable, other: Sortable): number {
  return Buffer.compare(one.key, other.key) || Buffer.compare(one.scopeHash, other.scopeHash);
}
