/** Levels on MariaDB: a database each on one server. */
import { join } from "node:path";
import type { Pool, RowDataPacket } from "mysql2/promise";
import { mysqlStore } from "ichido/mysql";
import { encodeHeaders } from "../../packages/ichido/src/stores/encoding.ts";
import { startMariadb } from "../../scripts/services/mariadb.ts";
import { openMariadb } from "../http/drivers.ts";
import { sampleHash, sampleScopeHash } from "../measure.ts";
import type { Bed, Likeness, Place, Purpose } from "./bed.ts";
import { sqlKeyOf } from "./keys.ts";
import { keyKindOf, nameOf, type Level } from "./level.ts";
import { answer, expiredAgeMs, freshAgeMs, retentionMs } from "./sample.ts";

const settings: Readonly<Record<Purpose, Readonly<Record<string, string | number>>>> = {
  fill: {
    "innodb-flush-log-at-trx-commit": 0,
    "innodb-doublewrite": 0,
    "innodb-buffer-pool-size": "1G",
    "innodb-log-file-size": "512M",
  },
  measure: { "innodb-flush-log-at-trx-commit": 1, "innodb-buffer-pool-size": "256M", "innodb-log-file-size": "512M" },
};

const numberTexts = { decimal: (number: string) => number, hex: (number: string) => `lower(hex(${number}))` };

/** The sequence engine, which every MariaDB has, stands for `generate_series`. */
const fillSql = (level: Level, from: number, to: number): string => `insert into ${nameOf(level)}.ichido_records (
    \`key\`, scope_hash, tenant, principal, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical, state,
    origin, owner, attempts, doubt_stays, fence, life, created_us, updated_us, lease_us, expires_us, sweep_us,
    response_kind, response_status, response_bytes, response_headers, response_body)
  select ${sqlKeyOf(keyKindOf(level), "seq", numberTexts)}, :scope, 't', 'p', 'bench', 1, :hash, :hash, 'completed',
    'new', md5(concat('owner', seq)), 1, 0, :us + seq, :us + seq, :us + seq, :us + seq, 0,
    :us + seq + :retentionUs, :us + seq + :retentionUs,
    '${answer.kind}', ${answer.status}, ${answer.body.length}, :headers, :body
  from seq_${from}_to_${to}`;

/** Keys in one statement that removes them. */
const removedAtOnce = 500;

function openBed(admin: Pool, pool: Pool, level: Level): Bed {
  const table = `${nameOf(level)}.ichido_records`;
  const store = mysqlStore(pool);
  return {
    level,
    store,
    async add(from, to, isExpired) {
      const us = (Date.now() - (isExpired ? expiredAgeMs : freshAgeMs)) * 1_000;
      const constants = { scope: sampleScopeHash, hash: sampleHash, us, retentionUs: retentionMs * 1_000 };
      const values = { ...constants, headers: encodeHeaders(answer.headers), body: answer.body };
      await admin.query({ sql: fillSql(level, from, to), namedPlaceholders: true }, values);
    },
    async remove(keys) {
      for (let at = 0; at < keys.length; at += removedAtOnce)
        await admin.query(`delete from ${table} where \`key\` in (?)`, [keys.slice(at, at + removedAtOnce)]);
    },
    async likenessOf(key) {
      const [columns] = await admin.query<RowDataPacket[]>(`show columns from ${table}`);
      const lengths = columns.map(({ Field: name }) => `length(\`${name}\`) as \`${name}\``);
      const [rows] = await admin.query<RowDataPacket[]>(
        `select ${lengths.join(", ")} from ${table} where \`key\` = ?`,
        [key],
      );
      return rows[0] === undefined ? undefined : ({ ...rows[0] } as Likeness);
    },
    async bytes() {
      await admin.query(`analyze table ${table}`);
      // The table is its primary key: what counts as an index here is beside it.
      const [rows] = await admin.query<RowDataPacket[]>(
        "select data_length as own, index_length as beside from information_schema.tables where table_schema = ? and table_name = 'ichido_records'",
        [nameOf(level)],
      );
      const [own, beside] = [Number(rows[0]?.["own"]), Number(rows[0]?.["beside"])];
      return { all: own + beside, indexes: beside };
    },
    async logged() {
      const [rows] = await admin.query<RowDataPacket[]>("show global status like 'Innodb_os_log_written'");
      return Number(rows[0]?.["Value"]);
    },
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

export async function mariadbPlace(folder: string, purpose: Purpose): Promise<Place> {
  const server = await startMariadb({ folder: join(folder, "mariadb"), settings: settings[purpose] });
  const admin = await openMariadb(server.url);
  const [rows] = await admin.query<RowDataPacket[]>("select version() as version");
  const open = async (level: Level): Promise<Bed> => {
    const url = new URL(server.url);
    url.pathname = `/${nameOf(level)}`;
    return openBed(admin, await openMariadb(url.href), level);
  };
  return {
    store: "mariadb",
    version: `MariaDB ${String(rows[0]?.["version"])}`,
    settings: "flush at commit 1, buffer pool 256M, ten connections",
    async create(level) {
      await admin.query(`drop database if exists ${nameOf(level)}`);
      await admin.query(`create database ${nameOf(level)}`);
      const bed = await open(level);
      await (bed.store as ReturnType<typeof mysqlStore>).migrate();
      return bed;
    },
    open,
    async close() {
      await admin.end();
      await server.stop();
    },
  };
}
