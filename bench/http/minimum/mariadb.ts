import type { ResultSetHeader, RowDataPacket } from "mysql2/promise";
import { openMariadb } from "../drivers.ts";
import type { Kept, MinimumStore } from "./minimum.ts";

const table = `create table if not exists \`keys\` (id char(43) character set ascii collate ascii_bin primary key,
  content char(43) character set ascii collate ascii_bin not null, owner char(36) character set ascii not null,
  lease_until datetime(3), status smallint, headers text, body longblob) engine = innodb`;
const insertSql =
  "insert ignore into `keys` (id, content, owner, lease_until) values (?, ?, ?, now(3) + interval 30 second)";
const findSql =
  "select content, owner, lease_until <= now(3) as lapsed, status, headers, body from `keys` where id = ?";
const takeSql = `update \`keys\` set owner = ?, lease_until = now(3) + interval 30 second
  where id = ? and owner = ? and status is null and lease_until <= now(3)`;
const completeSql = `update \`keys\` set status = ?, headers = ?, body = ?, lease_until = null
  where id = ? and owner = ? and status is null`;

interface Row extends RowDataPacket {
  readonly content: string;
  readonly owner: string;
  readonly lapsed: number | null;
  readonly status: number | null;
  readonly headers: string;
  readonly body: Buffer;
}

export async function openMariadbMinimum(url: string): Promise<MinimumStore> {
  const pool = await openMariadb(url);
  await pool.query(table);
  const changed = async (sql: string, values: (string | number | Buffer)[]): Promise<boolean> =>
    (await pool.execute<ResultSetHeader>(sql, values))[0].affectedRows === 1;
  return {
    async claim({ id, content, owner }) {
      if (await changed(insertSql, [id, content, owner])) return undefined;
      const [[row]] = await pool.execute<Row[]>(findSql, [id]);
      if (row === undefined) return { content };
      const { status, headers, body } = row;
      if (status !== null) {
        return { content: row.content, kept: { status, headers: JSON.parse(headers) as Kept["headers"], body } };
      }
      const free = row.lapsed === 1 && row.content === content;
      return free && (await changed(takeSql, [owner, id, row.owner])) ? undefined : { content: row.content };
    },
    complete: ({ id, owner }, { status, headers, body }) =>
      changed(completeSql, [status, JSON.stringify(headers), body, id, owner]),
  };
}
