/** Pages and sizes. Both walk the primary key; neither reads a body. */
import { IchidoError } from "../../core/errors.ts";
import type { ListPage, ListQuery, StoreStats } from "../../core/store.ts";
import { decodeCursor, encodeCursor } from "../shared/cursor.ts";
import { integerOf } from "./client.ts";
import type { Dialect, Value } from "./dialect.ts";
import { recordOf, toMs } from "./rows.ts";
import type { Run } from "./session.ts";
import { binaryValue, optionalText, text } from "./values.ts";

const limitMax = 1_000;

export async function list(run: Run, dialect: Dialect, query: ListQuery, timeoutMs: number): Promise<ListPage> {
  if (!Number.isInteger(query.limit) || query.limit < 1 || query.limit > limitMax) {
    throw new IchidoError("option-invalid", `limit: expected an integer from 1 to ${limitMax}, got ${query.limit}`);
  }
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const statement = dialect.statement("list");
  const state = query.state === "unknown" ? undefined : query.state;
  const values = statement.bind({
    afterKey: after === undefined ? null : text("cursor", after.key),
    afterHash: after === undefined ? null : binaryValue(after.scopeHash),
    key: optionalText("key", query.key),
    tenant: optionalText("tenant", query.tenant),
    principal: optionalText("principal", query.principal),
    operation: optionalText("operation", query.operation),
    state: optionalText("state", state),
    unknown: query.state === "unknown" ? 1 : 0,
    ...labelValues(query.label),
    limit: query.limit + 1,
  });
  const { rows } = await run(statement.sql, values, timeoutMs);
  const records = rows.slice(0, query.limit).map(recordOf);
  const last = records.at(-1)?.identity;
  return { records, ...(rows.length > query.limit && last !== undefined ? { cursor: encodeCursor(last) } : {}) };
}

/**
 * Labels are kept as the text of a JSON object. A member begins after `{` or `,`, and inside a JSON string every quote has
 * a backslash before it, so this text cannot be met anywhere else.
 */
function labelValues(label: ListQuery["label"]): { readonly labelFirst: Value; readonly labelNext: Value } {
  if (label === undefined) return { labelFirst: null, labelNext: null };
  const member = JSON.stringify({ [label.name]: label.value }).slice(1, -1);
  return { labelFirst: Buffer.from(`{${member}`), labelNext: Buffer.from(`,${member}`) };
}

export async function stats(run: Run, dialect: Dialect, timeoutMs: number): Promise<StoreStats> {
  const statement = dialect.statement("stats");
  const [row] = (await run(statement.sql, [], timeoutMs)).rows;
  const count = (name: string): number => integerOf(row?.[name] ?? 0);
  return {
    records: count("records"),
    processing: count("processing"),
    completed: count("completed"),
    failed: count("failed"),
    unknown: count("unknown_outcomes"),
    bodyBytes: count("body_bytes"),
    sweepLagMs: toMs(count("sweep_lag_us")),
    oldestUnknownMs: toMs(count("oldest_unknown_us")),
  };
}
