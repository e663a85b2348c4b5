/** Levels on SQLite: a file each. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore } from "ichido/sqlite";
import { encodeHeaders } from "../../packages/ichido/src/stores/encoding.ts";
import { sampleHash, sampleScopeHash } from "../measure.ts";
import { keyIn, type Bed, type Likeness, type Place, type Purpose } from "./bed.ts";
import { nameOf, type Level } from "./level.ts";
import { answer, expiredAgeMs, freshAgeMs, requestFor, retentionMs } from "./sample.ts";

/** While a level is filled nobody else has the file, and a fill that is cut off is begun anew. */
const pragmas: Readonly<Record<Purpose, string>> = {
  fill: "pragma journal_mode = delete; pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -2000000",
  measure: "pragma busy_timeout = 5000",
};

const fillSql = `insert into ichido_records (
    key, scope_hash, tenant, principal, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical, state,
    owner, fence, attempts, lease_us, created_us, updated_us, expires_us, origin, doubt_stays,
    response_kind, response_status, response_headers, response_body)
  with recursive numbers(i) as (select :first union all select i + 1 from numbers where i < :last)
  select key_of(i), :scope, 't', 'p', 'bench', 1, :hash, :hash, 'completed',
    lower(hex(randomblob(16))), :us + i, 1, :us + i + :leaseUs, :us + i, :us + i, :us + i + :retentionUs, 'new', 0,
    '${answer.kind}', ${answer.status}, :headers, :body
  from numbers`;

function likenessOf(database: DatabaseSync, key: string): Likeness | undefined {
  const names = database.prepare("select name from pragma_table_info('ichido_records')").all();
  // An integer takes from zero to eight bytes: its digits say as much.
  const lengths = names.map(({ name }) => `length(cast("${String(name)}" as blob)) as "${String(name)}"`);
  const row = database.prepare(`select ${lengths.join(", ")} from ichido_records where key = ?`).get(key);
  return row === undefined ? undefined : ({ ...row } as Likeness);
}

async function openBed(path: string, level: Level, purpose: Purpose): Promise<Bed> {
  const migrated = await openSqliteStore(path, { migrate: true });
  // The store's own connection would keep the file in the mode that it needs.
  if (purpose === "fill") await migrated.close();
  const database = new DatabaseSync(path);
  database.exec(pragmas[purpose]);
  database.function("key_of", { deterministic: true }, (number) => keyIn(level, Number(number)));
  const { leaseMs } = requestFor("");
  return {
    level,
    store: migrated,
    // One transaction: each writes every page of the index of random keys that it has touched, which are all of them.
    atOnce: 1_000_000,
    async add(from, to, isExpired) {
      database.prepare(fillSql).run({
        first: from,
        last: to,
        scope: sampleScopeHash,
        hash: sampleHash,
        us: (Date.now() - (isExpired ? expiredAgeMs : freshAgeMs)) * 1_000,
        leaseUs: leaseMs * 1_000,
        retentionUs: retentionMs * 1_000,
        headers: encodeHeaders(answer.headers),
        body: answer.body,
      });
    },
    async remove(keys) {
      const one = database.prepare("delete from ichido_records where key = ?");
      database.exec("begin immediate");
      for (const key of keys) one.run(key);
      database.exec("commit");
    },
    likenessOf: async (key) => likenessOf(database, key),
    async warm() {
      database.prepare("select count(key) from ichido_records indexed by sqlite_autoindex_ichido_records_1").get();
    },
    async bytes() {
      const sizes = database
        .prepare("select name, pgsize as bytes from dbstat where aggregate = true and name like '%ichido_records%'")
        .all();
      const sum = (some: typeof sizes): number => some.reduce((all, { bytes }) => all + Number(bytes), 0);
      return { all: sum(sizes), indexes: sum(sizes.filter(({ name }) => name !== "ichido_records")) };
    },
    async close() {
      if (purpose === "measure") await migrated.close();
      database.close();
    },
  };
}

export async function sqlitePlace(folder: string, purpose: Purpose): Promise<Place> {
  const pathOf = (level: Level): string => join(folder, `${nameOf(level)}.db`);
  const memory = new DatabaseSync(":memory:");
  const version = String(memory.prepare("select sqlite_version() as version").get()?.["version"]);
  memory.close();
  return {
    store: "sqlite",
    version: `SQLite ${version}`,
    settings: "synchronous FULL",
    async create(level) {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(pathOf(level) + suffix, { force: true });
      return openBed(pathOf(level), level, purpose);
    },
    async open(level) {
      if (!existsSync(pathOf(level))) throw new Error(`${pathOf(level)} is gone; begin anew with --clean`);
      return openBed(pathOf(level), level, purpose);
    },
    close: async () => {},
  };
}
