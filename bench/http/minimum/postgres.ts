import { openPostgres } from "../drivers.ts";
import type { Kept, MinimumStore } from "./minimum.ts";

export const table = `create table if not exists keys (id text collate "C" primary key, content text not null, owner text not null,
  lease_until timestamptz, status integer, headers text, body bytea)`;
const insertSql = `insert into keys (id, content, owner, lease_until) values ($1, $2, $3, now() + interval '30 s')
  on conflict do nothing`;
const findSql = "select content, owner, lease_until <= now() as lapsed, status, headers, body from keys where id = $1";
const takeSql = `update keys set owner = $1, lease_until = now() + interval '30 s'
  where id = $2 and owner = $3 and status is null and lease_until <= now()`;
const completeSql = `update keys set status = $1, headers = $2, body = $3, lease_until = null
  where id = $4 and owner = $5 and status is null`;

export async function openPostgresMinimum(url: string): Promise<MinimumStore> {
  const pool = await openPostgres(url);
  await pool.query(table);
  const changed = async (name: string, text: string, values: unknown[]): Promise<boolean> =>
    (await pool.query({ name, text, values })).rowCount === 1;
  return {
    async claim({ id, content, owner }) {
      if (await changed("insert", insertSql, [id, content, owner])) return undefined;
      const { rows } = await pool.query({ name: "find", text: findSql, values: [id] });
      const { lapsed, status, headers, body, ...row } = rows[0];
      if (status !== null) return { content: row.content, kept: { status, headers: JSON.parse(headers), body } };
      const free = lapsed === true && row.content === content;
      return free && (await changed("take", takeSql, [owner, id, row.owner])) ? undefined : { content: row.content };
    },
    complete: ({ id, owner }, { status, headers, body }: Kept) =>
      changed("complete", completeSql, [status, JSON.stringify(headers), body, id, owner]),
  };
}
