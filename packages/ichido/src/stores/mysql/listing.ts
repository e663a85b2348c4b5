/** Pages and sizes. Neither reads a body. */
import type { ListPage, ListQuery, StoreStats } from "../../core/contract/store.ts";
import { checkLimit, decodeCursor, pageOf } from "../encoding.ts";
import { integerOf } from "./client.ts";
import type { Dialect, ListFilter, Values } from "./dialect.ts";
import { labelHash } from "./labels.ts";
import { toMs } from "../../core/record-machine/record.ts";
import { recordOf } from "./row.ts";
import type { Run } from "./session.ts";
import { bufferOf } from "../../sql/statement.ts";

export async function list(run: Run, dialect: Dialect, query: ListQuery): Promise<ListPage> {
  checkLimit(query.limit);
  const wanted = Object.entries(wantedOf(query)).filter(([, values]) => values !== undefined);
  const statement = dialect.list(wanted.map(([name]) => name as ListFilter));
  const values = Object.assign({ limit: query.limit + 1 }, ...wanted.map(([, given]) => given)) as Values;
  const { rows } = await run(statement.sql, statement.bind(values));
  return pageOf(rows, query.limit, recordOf);
}

function wantedOf(query: ListQuery): Partial<Record<ListFilter, Values | undefined>> {
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const part = (name: "key" | "tenant" | "principal" | "operation"): Values | undefined =>
    query[name] === undefined ? undefined : { [name]: Buffer.from(query[name]) };
  return {
    after: after && { afterKey: Buffer.from(after.key), afterHash: bufferOf(after.scopeHash) },
    key: part("key"),
    tenant: part("tenant"),
    principal: part("principal"),
    operation: part("operation"),
    ...(query.state === undefined ? {} : { [query.state]: {} }),
    resource: query.resource && { kind: Buffer.from(query.resource.kind), id: Buffer.from(query.resource.id) },
    label: query.label && labelValues(query.label),
  };
}

/**
 * Labels are kept as the text of a JSON object. A member begins after `{` or `,`, and inside a JSON string every quote has
 * a backslash before it, so this text cannot be met anywhere else.
 */
function labelValues({ name, value }: NonNullable<ListQuery["label"]>): Values {
  const member = JSON.stringify({ [name]: value }).slice(1, -1);
  return {
    labelHash: labelHash(name, value),
    labelFirst: Buffer.from(`{${member}`),
    labelNext: Buffer.from(`,${member}`),
  };
}

export async function stats(run: Run, dialect: Dialect): Promise<StoreStats> {
  const [row] = (await dialect.send(run, "stats")).rows;
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
