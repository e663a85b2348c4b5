import { openPostgres } from "../drivers.ts";
import { grouped } from "./grouped.ts";
import type { Claim, Kept, MinimumStore, Seen } from "./minimum.ts";
import { table } from "./postgres.ts";

/** A row that is not there afterwards was inserted by another process meanwhile: its owner is at work. */
const claimSql = `with asked as (select * from unnest($1::text[], $2::text[], $3::text[]) as a (id, content, owner)),
  seen as (select k.* from keys k join asked using (id)
    where k.status is not null or k.lease_until > now() or k.content <> asked.content),
  mine as (insert into keys as k (id, content, owner, lease_until)
    select distinct on (id) id, content, owner, now() + interval '30 s' from asked
      where id not in (select id from seen)
    on conflict (id) do update set owner = excluded.owner, lease_until = excluded.lease_until
      where k.status is null and k.lease_until <= now() and k.content = excluded.content
    returning k.*)
  select id, content, owner, status, headers, body from (select * from mine union all select * from seen) as row`;
const completeSql = `update keys k set status = a.status, headers = a.headers, body = a.body, lease_until = null
  from unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::bytea[]) as a (id, owner, status, headers, body)
  where k.id = a.id and k.owner = a.owner and k.status is null returning k.id`;

export async function openPostgresGrouped(url: string): Promise<MinimumStore> {
  const pool = await openPostgres(url);
  // Until a growing table is analyzed, the planner reads all of it for a group.
  pool.on("connect", (client) => void client.query("set enable_seqscan = off; set enable_hashjoin = off"));
  await pool.query(table);

  const claim = grouped(async (claims: readonly Claim[]): Promise<(Seen | undefined)[]> => {
    const values = [claims.map(({ id }) => id), claims.map(({ content }) => content), claims.map(({ owner }) => owner)];
    const { rows } = await pool.query({ name: "claim", text: claimSql, values });
    const byId = new Map(rows.map((row) => [row.id, row]));
    return claims.map(({ id, content, owner }) => {
      const row = byId.get(id);
      if (row === undefined) return { content };
      if (row.owner === owner) return undefined;
      if (row.status === null) return { content: row.content };
      return { content: row.content, kept: { status: row.status, headers: JSON.parse(row.headers), body: row.body } };
    });
  });
  const complete = grouped(async (all: readonly (readonly [Claim, Kept])[]): Promise<boolean[]> => {
    const [ids, owners] = [all.map(([{ id }]) => id), all.map(([{ owner }]) => owner)];
    const [statuses, bodies] = [all.map(([, { status }]) => status), all.map(([, { body }]) => body)];
    const values = [ids, owners, statuses, all.map(([, { headers }]) => JSON.stringify(headers)), bodies];
    const { rows } = await pool.query({ name: "complete", text: completeSql, values });
    const done = new Set(rows.map(({ id }) => id));
    return ids.map((id) => done.has(id));
  });
  return { claim, complete: (asked, kept) => complete([asked, kept]) };
}
