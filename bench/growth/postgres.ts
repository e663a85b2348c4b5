/** Levels on PostgreSQL: a schema each in one database. */
import { join } from "node:path";
import type { Pool } from "pg";
import { postgresStore } from "ichido/postgres";
import { encodeHeaders } from "../../packages/ichido/src/stores/encoding.ts";
import { startPostgres } from "../../scripts/services/postgres.ts";
import { openPostgres } from "../http/drivers.ts";
import { sampleHash, sampleScopeHash } from "../measure.ts";
import type { Bed, Place, Purpose } from "./bed.ts";
import { sqlKeyOf } from "./keys.ts";
import { keyKindOf, nameOf, type Level } from "./level.ts";
import { answer, expiredAgeMs, freshAgeMs, retentionMs } from "./sample.ts";

const partitions = 16;
const settings: Readonly<Record<Purpose, Readonly<Record<string, string>>>> = {
  fill: { shared_buffers: "2GB", max_wal_size: "4GB", maintenance_work_mem: "256MB", autovacuum: "off" },
  measure: { fsync: "on", full_page_writes: "on", shared_buffers: "256MB" },
};

/** The table of the store, anew as a partitioned one. Its functions know it by name. */
async function partition(pool: Pool, schema: string): Promise<void> {
  const table = `${schema}.ichido_records`;
  const options = await pool.query<{ list: string }>(
    "select array_to_string(reloptions, ', ') as list from pg_class where oid = $1::regclass",
    [table],
  );
  await pool.query(`alter table ${table} rename to records_model`);
  await pool.query(
    `create table ${table} (like ${schema}.records_model including defaults including indexes) partition by hash (key)`,
  );
  await pool.query(`drop table ${schema}.records_model`);
  for (let part = 0; part < partitions; part += 1) {
    await pool.query(`create table ${schema}.ichido_records_${part} partition of ${table}
      for values with (modulus ${partitions}, remainder ${part}) with (${options.rows[0]?.list ?? ""})`);
  }
}

const numberTexts = { decimal: (number: string) => `(${number})::text`, hex: (number: string) => `to_hex(${number})` };

/** Records that are claimed, and then completed, together: as many as the store itself groups. */
const groupSize = 64;

/**
 * Makes records by numbers in the two writes that the store makes of them, group by group: a record is born small and
 * grows by its answer, and rows that were written whole would lie on their pages in another way.
 */
function fillSql(level: Level): string {
  const table = `${nameOf(level)}.ichido_records`;
  return `create or replace procedure ${nameOf(level)}.growth_fill(
    first bigint, last bigint, scope bytea, print bytea, retention_ms bigint, headers text, body bytea, age_ms bigint
  ) language plpgsql as $growth_fill$
  declare
    places tid[];
  begin
    -- A partition is small at first, and would be read as a whole to find a few places.
    perform set_config('enable_seqscan', 'off', false);
    for start in first .. last by ${groupSize} loop
      with made as (
        insert into ${table} (
          key, scope_hash, tenant, principal, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical,
          state, origin, owner, fence, life, attempts, lease_until, created_at, updated_at, expires_at, doubt_stays)
        select ${sqlKeyOf(keyKindOf(level), "i", numberTexts)}, scope, 't', 'p', 'bench', 1, print, print,
          'processing', 'new', md5('owner' || i)::uuid, (extract(epoch from at) * 1000000)::bigint,
          (extract(epoch from at) * 1000000)::bigint, 1, at, at, at, at + retention_ms * interval '1 ms', false
        from generate_series(start, least(start + ${groupSize - 1}, last)) i,
          lateral (select clock_timestamp() - age_ms * interval '1 ms' + i * interval '1 us' as at) times
        returning ctid)
      select array_agg(ctid) into places from made;
      commit;
      -- The state as well: places are those of a partition, and each has its own.
      update ${table} set
        state = 'completed', lease_until = null, response_kind = '${answer.kind}', response_status = ${answer.status},
        response_headers = headers, response_body = body, updated_at = created_at
      where ctid = any(places) and state = 'processing';
      commit;
    end loop;
    perform set_config('enable_seqscan', 'on', false);
  end
  $growth_fill$`;
}

function openBed(pool: Pool, level: Level): Bed {
  const schema = nameOf(level);
  const table = `${schema}.ichido_records`;
  const store = postgresStore(pool, { schema });
  return {
    level,
    store,
    async add(from, to, isExpired) {
      const age = isExpired ? expiredAgeMs : freshAgeMs;
      const constants = [sampleScopeHash, sampleHash, retentionMs, encodeHeaders(answer.headers), answer.body, age];
      await pool.query(fillSql(level));
      await pool.query(`call ${schema}.growth_fill($1, $2, $3, $4, $5, $6, $7, $8)`, [from, to, ...constants]);
    },
    async remove(keys) {
      await pool.query(`delete from ${table} where key = any($1)`, [keys]);
    },
    async likenessOf(key) {
      const columns = (await columnNames(pool, table)).map((name) => `'${name}', pg_column_size(r.${name})`);
      const { rows } = await pool.query<{ sizes: Record<string, number | null> }>(
        `select json_build_object(${columns.join(", ")}) as sizes from ${table} r where key = $1`,
        [key],
      );
      return rows[0]?.sizes;
    },
    async bytes() {
      const { rows } = await pool.query<{ all: string; indexes: string }>(
        `select sum(pg_total_relation_size(t.oid)) as all, sum(pg_indexes_size(t.oid)) as indexes
         from pg_class t where t.relkind = 'r' and t.relname like 'ichido_records%' and t.relnamespace = $1::regnamespace`,
        [schema],
      );
      return { all: Number(rows[0]?.all), indexes: Number(rows[0]?.indexes) };
    },
    async logged() {
      const { rows } = await pool.query<{ at: string }>("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as at");
      return Number(rows[0]?.at);
    },
    async warm() {
      await pool.query("create extension if not exists pg_prewarm");
      await pool.query(
        `select sum(pg_prewarm(i.indexrelid::regclass, 'read')) from pg_index i join pg_class t on t.oid = i.indrelid
         where t.relkind = 'r' and t.relname like 'ichido_records%' and t.relnamespace = $1::regnamespace`,
        [schema],
      );
    },
    async settle() {
      await pool.query(`vacuum (analyze) ${table}`);
      await pool.query("checkpoint");
    },
    close: async () => store.close(),
  };
}

async function columnNames(pool: Pool, table: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped",
    [table],
  );
  return rows.map(({ name }) => name);
}

/** In a database that is ours. */
export async function postgresPlaceAt(url: string): Promise<Place> {
  const pool = await openPostgres(url);
  pool.on("error", (error) => console.error(error.message));
  const { rows } = await pool.query<{ server_version: string }>("show server_version");
  return {
    store: "postgres",
    version: `PostgreSQL ${rows[0]?.server_version ?? ""}`,
    settings: "fsync on, shared_buffers 256MB, ten connections",
    async create(level) {
      const schema = nameOf(level);
      await pool.query(`drop schema if exists ${schema} cascade`);
      await pool.query(`create schema ${schema}`);
      await postgresStore(pool, { schema }).migrate();
      if (level.shape === "hash") await partition(pool, schema);
      return openBed(pool, level);
    },
    open: async (level) => openBed(pool, level),
    close: () => pool.end(),
  };
}

export async function postgresPlace(folder: string, purpose: Purpose): Promise<Place> {
  const server = await startPostgres({ folder: join(folder, "postgres"), settings: settings[purpose] });
  const place = await postgresPlaceAt(server.url);
  return {
    ...place,
    async close() {
      await place.close();
      await server.stop();
    },
  };
}
