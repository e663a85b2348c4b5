/** PostgreSQL with a clock that stands, and records laid into its tables. */
import { createHash } from "node:crypto";
import pg from "pg";
import { postgresStore } from "ichido/postgres";
import { pgTransactions, type TransactionRunner } from "ichido/transactions";
import type { OwnerToken } from "ichido";
import type { WrittenState } from "../../../packages/ichido/src/core/contract/record.ts";
import { originOf } from "../../../packages/ichido/src/core/record-machine/record.ts";
import { decodeHeaders, encodeHeaders } from "../../../packages/ichido/src/stores/encoding.ts";
import { migrations, statements } from "../../../packages/ichido/src/stores/postgres/statements.generated.ts";
import { expandText } from "../../../packages/ichido/src/sql/statement.ts";
import { nameTables } from "../../../packages/ichido/src/stores/postgres/statements.ts";
import { freshDatabase } from "../../support/services.ts";
import { nowUs } from "./cases.ts";
import type { Bed, Lying, Placed } from "./check.ts";

const at = (column: string): string => `timestamptz 'epoch' + x.${column} * interval '1 microsecond'`;
const us = (column: string): string => `(extract(epoch from ${column}) * 1000000)::bigint`;

const recordColumns = `
  key, scope_hash, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical, fingerprint_former, state, origin,
  owner, fence, life, attempts, doubt_stays, lease_until, steps_started, hold_reason, response_kind, response_status,
  response_headers, response_body, created_at, updated_at, expires_at`;

export interface PostgresServer {
  readonly runner: TransactionRunner<unknown>;
  /** A bed with tables of its own; until it is closed, its statements and the functions of its migrations are edited as told. */
  bed(prefix: string, edit?: (sql: string) => string): Promise<Bed>;
  close(): Promise<void>;
}

export async function postgresServer(serverUrl: string): Promise<PostgresServer> {
  const database = await freshDatabase(serverUrl);
  const pool = new pg.Pool({ connectionString: database.url, max: 6 });
  pool.on("error", () => {});
  const moment = `timestamptz 'epoch' + ${nowUs} * interval '1 microsecond'`;
  await pool.query(`create schema test_clock`);
  await pool.query(
    `create function test_clock.clock_timestamp() returns timestamptz immutable language sql as $$ select ${moment} $$`,
  );
  await pool.query(`alter database ${database.name} set search_path = public, test_clock, pg_catalog`);
  await pool.query(`alter database ${database.name} set synchronous_commit = off`);
  await pool.end();
  // A copy that is edited may never end.
  const own = new pg.Pool({ connectionString: database.url, max: 6, statement_timeout: 15_000 });
  own.on("error", () => {});
  const edited = new Map<string, string>();
  // Also of the connection that the store makes for itself, as the pool makes its own.
  class Client extends pg.Client {
    constructor(options?: pg.ClientConfig) {
      super(options);
      sendEdited(this, edited);
    }
  }
  Object.assign(own, { Client });
  return {
    runner: pgTransactions(own),
    bed: (prefix, edit) => postgresBed(own, prefix, edited, edit),
    async close() {
      await own.end();
      await database.drop();
    },
  };
}

/** In the place of a statement that the store sends, another one. */
function sendEdited(client: pg.Client, edited: ReadonlyMap<string, string>): void {
  const query = client.query.bind(client) as (...values: readonly unknown[]) => unknown;
  const send = (asked: string | pg.QueryConfig, ...rest: readonly unknown[]): unknown => {
    const text = typeof asked === "string" ? undefined : edited.get(asked.text);
    if (typeof asked === "string" || text === undefined) return query(asked, ...rest);
    const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
    return query({ ...asked, text, ...(asked.name !== undefined && { name: `edited_${digest}` }) }, ...rest);
  };
  Object.assign(client, { query: send });
}

async function postgresBed(
  pool: pg.Pool,
  prefix: string,
  edited: Map<string, string>,
  edit?: (sql: string) => string,
): Promise<Bed> {
  const open = () => postgresStore(pool, { tablePrefix: prefix, groupSizeMax: 400, callTimeoutMs: 30_000 });
  await open().migrate();
  const changed = functions.filter((text) => edit !== undefined && edit(text) !== text);
  const define = (text: string) => pool.query(text.replaceAll("{prefix}", prefix));
  for (const text of changed) await define(edit?.(text) ?? text);
  const named = (text: string): string => nameTables({ schema: undefined, tablePrefix: prefix }, expandText(text, {}));
  for (const text of Object.values(statements)) {
    const other = edit?.(text) ?? text;
    if (other !== text) edited.set(named(text), named(other));
  }

  return {
    damages: ["an unknown state"],
    rows: async () => (await pool.query(`select * from ${prefix}records order by key`)).rows,
    async arrange(placed, tick) {
      await pool.query(`truncate ${prefix}records, ${prefix}steps, ${prefix}audit, ${prefix}clock`);
      await pool.query(
        `insert into ${prefix}records (${recordColumns})
        select x.key, x.scope_hash, x.operation, 1, x.raw, x.canonical, x.former, x.state, x.origin, x.owner, x.fence, x.fence,
          x.attempts, x.doubt_stays, ${at("lease")}, x.steps_started, x.hold_reason, x.kind, x.status, x.headers, x.body,
          ${at("created")}, ${at("updated")}, ${at("expires")}
        from jsonb_to_recordset($1::jsonb) as x (
          key text, scope_hash bytea, operation text, raw bytea, canonical bytea, former bytea, state text, origin text, owner uuid,
          fence bigint, attempts integer, doubt_stays boolean, lease bigint, steps_started integer, hold_reason text, kind text,
          status integer, headers text, body bytea, created bigint, updated bigint, expires bigint)`,
        [JSON.stringify(placed.map(rowOf))],
      );
      await pool.query(
        `insert into ${prefix}steps (key, scope_hash, life, name, attempt, result, started_at, last_started_at, finished_at)
        select x.key, x.scope_hash, x.life, x.name, x.attempt, x.result, ${at("started")}, ${at("last")}, ${at("finished")}
        from jsonb_to_recordset($1::jsonb) as x (
          key text, scope_hash bytea, life bigint, name text, attempt integer, result bytea, started bigint, last bigint,
          finished bigint)`,
        [JSON.stringify(placed.flatMap(stepRowsOf))],
      );
      if (tick !== undefined) {
        await pool.query(
          `insert into ${prefix}clock (id, last_at, interval_ms, steady_since)
          select 1, ${at("last")}, x.every / 1000, ${at("steady")}
          from (select $1::bigint as last, $2::bigint as every, $3::bigint as steady) x`,
          [tick.lastUs, tick.intervalUs, tick.steadySinceUs],
        );
      }
      await pool.query(`analyze ${prefix}records`);
      return open();
    },
    async lying() {
      const { rows } = await pool.query({
        rowMode: "array",
        text: `select key, state, replace(owner::text, '-', ''), origin, fence, attempts, doubt_stays,
          coalesce(${us("lease_until")}, 0), steps_started, hold_reason, response_kind, response_status, response_headers,
          response_body, ${us("created_at")}, ${us("updated_at")}, ${us("expires_at")}, fingerprint_raw,
          fingerprint_canonical, fingerprint_former
          from ${prefix}records`,
      });
      return new Map(rows.map((row: readonly unknown[]) => [String(row[0]), lyingOf(row)]));
    },
    async close() {
      for (const text of changed) await define(text);
      edited.clear();
    },
  };
}

/** Those of all migrations, each as it can be put in the place of the one that is there. */
export const functions = migrations
  .flatMap(({ sql }) => [...sql.matchAll(/^create function [^]*?\$(\w+)\$[^]*?\$\1\$;/gm)].map(([text]) => text))
  .map((text) => text.replace(/^create function/, "create or replace function"));

const bytea = (bytes: Uint8Array | undefined): string | null =>
  bytes === undefined ? null : `\\x${Buffer.from(bytes).toString("hex")}`;

function rowOf({ identity, record, damage }: Placed): unknown {
  const response = record.response ?? record.interim;
  return {
    key: identity.key,
    scope_hash: bytea(identity.scopeHash),
    operation: identity.operation,
    raw: bytea(record.fingerprint.raw as Uint8Array),
    canonical: bytea(record.fingerprint.canonical as Uint8Array),
    former: bytea(record.fingerprint.former as Uint8Array | undefined),
    state: damage === undefined ? record.state : "paused",
    origin: record.origin,
    owner: record.owner,
    fence: record.fence,
    attempts: record.attempts,
    doubt_stays: record.doubtStays,
    lease: record.leaseUs === 0 ? null : record.leaseUs,
    steps_started: record.stepsStarted,
    hold_reason: record.holdReason ?? null,
    kind: response?.kind ?? null,
    status: response?.status ?? null,
    headers: response === undefined ? null : encodeHeaders(response.headers),
    body: bytea(response?.body),
    created: record.createdUs,
    updated: record.updatedUs,
    expires: record.expiresUs,
  };
}

function stepRowsOf({ identity, record }: Placed): readonly unknown[] {
  return record.steps.map((step) => ({
    key: identity.key,
    scope_hash: bytea(identity.scopeHash),
    life: record.fence,
    name: step.name,
    attempt: step.attempt,
    result: bytea(step.result),
    started: step.startedUs,
    last: step.lastStartedUs,
    finished: step.finishedUs ?? null,
  }));
}

function lyingOf(row: readonly unknown[]): Lying {
  const [, state, owner, origin, fence, attempts, doubtStays, lease, steps, holdReason, kind, status, headers, body] =
    row;
  const [created, updated, expires, raw, canonical, former] = row.slice(14);
  const response =
    kind === null
      ? undefined
      : {
          kind: kind as "full" | "tombstone",
          status: Number(status),
          headers: decodeHeaders(String(headers)),
          body: body as Uint8Array,
        };
  return {
    state: state as WrittenState,
    owner: owner as OwnerToken,
    origin: originOf(String(origin)),
    fence: Number(fence),
    attempts: Number(attempts),
    doubtStays: doubtStays === true,
    leaseUs: state === "processing" ? Number(lease) : 0,
    hasSteps: Number(steps) > 0,
    holdReason: (holdReason as string | null) ?? undefined,
    interim: state === "processing" ? response : undefined,
    response: state === "completed" ? response : undefined,
    createdUs: Number(created),
    updatedUs: Number(updated),
    expiresUs: Number(expires),
    fingerprint: {
      raw: raw as Uint8Array,
      canonical: canonical as Uint8Array,
      former: former === null ? undefined : (former as Uint8Array),
    },
  };
}
