/** A walk over the attempt log, note by note, where a store keeps it page by page. */
import { IchidoError } from "../core/contract/errors.ts";
import type { HistoryPage, HistoryQuery, LoggedAttempt } from "../core/contract/history.ts";
import { readPage } from "../core/record-machine/log-page.ts";
import { checkLimit } from "./encoding.ts";

export interface PageRow {
  /** Where the walk goes on after this page. */
  readonly token: string;
  readonly writtenMs: number;
  readonly bytes: Uint8Array;
}

export interface PageShelf {
  /** Where a walk without a cursor begins, and where it goes on if nothing is there yet. */
  begin(fromAgoMs: number | undefined): Promise<{ readonly from: string; readonly end: string | undefined }>;
  after(token: string, pages: number): Promise<readonly PageRow[]>;
}

const pagesPerRead = 16;

/** `token` of the page before, or `token~passed~page`: so many notes of that page were given out. */
interface Place {
  readonly token: string;
  readonly passed: number;
  readonly page: string | undefined;
}

function placeIn(cursor: string): Place {
  const [token = "", passed = "0", page, ...rest] = cursor.split("~");
  if (/^\d{1,9}$/.test(passed) && rest.length === 0) return { token, passed: Number(passed), page };
  throw new IchidoError("option-invalid", "cursor: expected the value a former page gave; start again without one");
}

export async function followPages(query: HistoryQuery, shelf: PageShelf): Promise<HistoryPage<LoggedAttempt>> {
  const { limit, cursor, fromAgoMs } = query;
  checkLimit(limit);
  const begun = cursor === undefined ? await shelf.begin(fromAgoMs) : undefined;
  const start: Place =
    cursor === undefined ? { token: begun?.from ?? "", passed: 0, page: undefined } : placeIn(cursor);
  const entries: LoggedAttempt[] = [];
  let { token } = start;
  let isMore = true;
  while (isMore && entries.length < limit) {
    const rows = await shelf.after(token, pagesPerRead);
    isMore = rows.length === pagesPerRead;
    for (const row of rows) {
      const passed = row.token === start.page ? start.passed : 0;
      const room = limit - entries.length;
      if (room === 0) break;
      const notes = readPage(row.bytes, row.writtenMs, passed, room + 1);
      entries.push(...notes.slice(0, room));
      if (notes.length > room) return { entries, cursor: `${token}~${passed + room}~${row.token}` };
      token = row.token;
    }
  }
  const next = entries.length === 0 ? (cursor ?? begun?.end) : token;
  return { entries, ...(next !== undefined && { cursor: next }) };
}
