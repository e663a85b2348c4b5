/**
 * Claims, steps and completes keys on a SQLite file, several at a time, and writes each answer it got from the store to
 * `acks` in the same folder: one JSON line, in the order in which a caller would have been answered.
 */
import { openSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "ichido/sqlite";
import type { SqliteDatabase } from "ichido/sqlite";
import { isIchidoError } from "ichido";
import {
  sampleFingerprint,
  sampleIdentity,
  sampleOwner,
  sampleResponse,
} from "../../packages/ichido/src/testing/store-suite/samples.ts";

const [folder = "", driver = "", synchronous = "", keys = "0", callers = "1"] = process.argv.slice(2);

type Constructor = new (path: string) => SqliteDatabase;
const Database =
  driver === "better-sqlite3" ? (createRequire(import.meta.url)("better-sqlite3") as Constructor) : DatabaseSync;

const database = new Database(join(folder, "ichido.db"));
const store = sqliteStore(database, { synchronous: synchronous === "normal" ? "normal" : "full" });
const acks = openSync(join(folder, "acks"), "a");

function acknowledge(fact: object): void {
  writeSync(acks, `${JSON.stringify(fact)}\n`);
}

await store.migrate();
// Small, so that the log is copied into the database and begun anew many times during the run.
database.exec("PRAGMA wal_autocheckpoint = 60");
acknowledge({ done: "migrated" });

let failures = 0;

/** As the engine does after a failure whose outcome it does not know: the same call with the same owner, again. */
async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      failures += 1;
      if (attempt === 3 || !isIchidoError(error) || error.code !== "store-unavailable") throw error;
    }
  }
}

let next = 0;
async function serve(): Promise<void> {
  while (next < Number(keys)) {
    next += 1;
    const key = `key-${next}`;
    const [identity, owner] = [sampleIdentity(key), sampleOwner(key)];
    const leaseMs = 30_000;
    const fingerprint = sampleFingerprint();
    const request = { identity, owner, fingerprint, leaseMs, retentionMs: 86_400_000, takeover: "none" } as const;
    const result = await persistently(() => store.claim(request));
    if (result.outcome !== "granted") throw new Error(`${key}: ${result.outcome}`);
    const claim = { identity, owner, fence: result.fence };
    acknowledge({ done: "claimed", key, fence: result.fence });
    await persistently(() => store.startStep({ ...claim, name: "charge", leaseMs }));
    acknowledge({ done: "started", key });
    const response = sampleResponse({ body: `${key} `.repeat(1 + (next % 300)) });
    if ((await persistently(() => store.complete({ ...claim, response }))) !== "ok") throw new Error(`${key}: stale`);
    acknowledge({ done: "completed", key, body: Buffer.from(response.body).toString("base64") });
  }
}

await Promise.all(Array.from({ length: Number(callers) }, serve));
console.log(`finished after ${failures} failures`);
// Still open: closing would copy the log back and remove it.
setInterval(() => {}, 1_000);
