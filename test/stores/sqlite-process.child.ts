/** Another process on the same SQLite file: holds its write lock, claims keys in a race, or migrates. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore } from "ichido/sqlite";
import type { OwnerToken } from "ichido";
import { sampleFingerprint, sampleIdentity } from "../../packages/ichido/src/testing/store-suite/samples.ts";

const [path = "", task = "", ...rest] = process.argv.slice(2);

/** So that the test decides when: all are up before a race starts, and a lock is held for as long as it looks. */
async function told(): Promise<void> {
  console.log("ready");
  await once(process.stdin, "data");
  process.stdin.destroy();
}

const tasks: Readonly<Record<string, () => Promise<void>>> = {
  async hold() {
    const database = new DatabaseSync(path);
    database.exec("BEGIN IMMEDIATE");
    await told();
    database.exec("ROLLBACK");
    database.close();
  },

  async race() {
    const [keys = "0", claims = "0"] = rest;
    const store = await openSqliteStore(path);
    await store.ping();
    await told();
    const answers: { readonly key: string; readonly outcome: string }[] = [];
    // Two keys at a time, so that the processes meet at many keys instead of one taking them all in a single commit.
    for (let index = 0; index < Number(keys); index += 2) {
      const wave = Array.from({ length: 2 * Number(claims) }, async (_, claim) => {
        const key = `key-${index + (claim % 2)}`;
        const owner = randomBytes(16).toString("hex") as OwnerToken;
        const { outcome } = await store.claim({
          identity: sampleIdentity(key),
          owner,
          fingerprint: sampleFingerprint(),
          leaseMs: 30_000,
          retentionMs: 86_400_000,
          takeover: "lapsed",
        });
        return { key, outcome };
      });
      answers.push(...(await Promise.all(wave)));
    }
    console.log(`answers ${JSON.stringify(answers)}`);
    await store.close();
  },

  async migrate() {
    const store = await openSqliteStore(path);
    await told();
    console.log(`migrated ${(await store.migrate()).length}`);
    await store.ping();
    await store.close();
  },
};

await (tasks[task] ?? (() => Promise.reject(new Error(`no task ${task}`))))();
