/**
 * The SQLite store beside a hand-written minimum that commits every statement by itself, both with synchronous=FULL:
 *
 *     npm run bench -- stores/sqlite.ts [seconds a turn]
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore } from "ichido/sqlite";
import { compareStores, sampleBody, sampleHash, sampleScopeHash, storeSubject, type Subject } from "../measure.ts";

const turnMs = Number(process.argv[2] ?? 1.5) * 1_000;
const folder = mkdtempSync(join(tmpdir(), "ichido-bench-"));

function minimum(path: string): Subject & { close(): void } {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec("pragma journal_mode=wal; pragma synchronous=full");
  database.exec(`create table minimum(key text, scope blob, state integer not null, token integer not null, attempt text not null,
    fp blob not null, lease_us integer, exp_us integer not null, resp blob, primary key(key,scope)) strict`);
  const now = "cast(unixepoch('subsec')*1000000 as integer)";
  const insert = database.prepare(`insert into minimum(key,scope,state,token,attempt,fp,lease_us,exp_us)
    values(?,?,1,${now},?,?,${now}+30000000,${now}+86400000000)
    on conflict(key,scope) do update set token=max(token+1,excluded.token), attempt=excluded.attempt, lease_us=excluded.lease_us
    where fp=excluded.fp and (state=0 or (state=1 and lease_us<=${now})) returning token`);
  const read = database.prepare("select state,token,fp,resp,lease_us from minimum where key=? and scope=?");
  const finish = database.prepare(
    "update minimum set state=2,resp=?,lease_us=null where key=? and scope=? and state=1 and token=? and attempt=?",
  );
  return {
    name: "minimum",
    async claimAndComplete(key) {
      const attempt = randomBytes(16).toString("hex");
      const row = insert.get(key, sampleScopeHash, attempt, sampleHash);
      if (row === undefined) throw new Error("refused");
      const token = Number(row["token"]);
      if (Number(finish.run(sampleBody, key, sampleScopeHash, token, attempt).changes) !== 1) throw new Error("stale");
    },
    async replay(key) {
      if (read.get(key, sampleScopeHash)?.["state"] !== 2) throw new Error("not replayed");
    },
    close: () => database.close(),
  };
}

const store = await openSqliteStore(join(folder, "ichido.db"), { migrate: true });
const bare = minimum(join(folder, "minimum.db"));
try {
  const subjects = [storeSubject("ichido", store), bare];
  await compareStores({ title: "sqlite FULL", subjects, baseline: bare.name, turnMs });
} finally {
  bare.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}
