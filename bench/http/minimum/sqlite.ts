import { DatabaseSync } from "node:sqlite";
import { grouped } from "./grouped.ts";
import { leaseMs, type Kept, type MinimumStore, type Seen } from "./minimum.ts";

interface Row {
  readonly content: string;
  readonly lease_until: number;
  readonly status: number | null;
  readonly headers: string;
  readonly body: Uint8Array;
}

function seenIn({ content, status, headers, body }: Row): Seen {
  if (status === null) return { content };
  return { content, kept: { status, headers: JSON.parse(headers) as Kept["headers"], body: Buffer.from(body.buffer) } };
}

export function openSqlite(file: string, together: boolean): MinimumStore {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  db.exec(`pragma journal_mode = wal; pragma synchronous = full;
    create table if not exists keys (id text primary key, content text, owner text, lease_until integer, status integer,
      headers text, body blob) without rowid`);
  const find = db.prepare("select content, lease_until, status, headers, body from keys where id = ?");
  const insert = db.prepare(`insert into keys (id, content, owner, lease_until) values (?, ?, ?, ?)
    on conflict do update set owner = excluded.owner, lease_until = excluded.lease_until
    where status is null and lease_until <= ? and content = excluded.content`);
  const update = db.prepare(
    "update keys set status = ?, headers = ?, body = ? where id = ? and owner = ? and status is null",
  );
  const inOneCommit = grouped((calls: readonly (() => unknown)[]) => {
    db.exec("begin immediate");
    const made = calls.map((call) => call());
    db.exec("commit");
    return made;
  });
  const run = async <Out>(call: () => Out): Promise<Out> => (together ? ((await inOneCommit(call)) as Out) : call());

  return {
    claim: ({ id, content, owner }) =>
      run(() => {
        const row = find.get(id) as Row | undefined;
        const nowMs = Date.now();
        const lapsed = row?.status === null && row.lease_until <= nowMs && row.content === content;
        if (row !== undefined && !lapsed) return seenIn(row);
        return insert.run(id, content, owner, nowMs + leaseMs, nowMs).changes === 1 ? undefined : { content };
      }),
    complete: ({ id, owner }, { status, headers, body }) =>
      run(() => update.run(status, JSON.stringify(headers), body, id, owner).changes === 1),
  };
}
