/** Large tables: listings and counts in slices, sweeps in small transactions, a log that does not stay large. */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "ichido/sqlite";
import type { SqliteStore } from "ichido/sqlite";
import { fakeClock, sampleFingerprint, sampleIdentity, sampleOwner, sampleResponse } from "ichido/testing";
import type { ListQuery } from "ichido";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFile, type TemporaryFile } from "./sqlite-files.ts";

let file: TemporaryFile;
let database: DatabaseSync;
let store: SqliteStore;
let clock: ReturnType<typeof fakeClock>;

beforeEach(async () => {
  file = temporaryFile();
  database = new DatabaseSync(file.path);
  clock = fakeClock();
  store = sqliteStore(database, { nowMs: clock.nowMs });
  await store.migrate();
});

afterEach(async () => {
  await store.close();
  database.close();
  file.remove();
});

/** Completed records in bulk; every 1000th is of another tenant, every 3000th is labelled and failed. */
function fill(count: number): void {
  const nowUs = clock.nowMs() * 1_000;
  database.exec("BEGIN");
  database
    .prepare(
      `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
       INSERT INTO ichido_records (key, scope_hash, tenant, operation, fingerprint_version, fingerprint_raw,
         fingerprint_canonical, state, owner, fence, attempts, lease_us, labels, created_us, updated_us, expires_us,
         response_kind, response_status, response_headers, response_body)
       SELECT printf('key-%06d', i), ?, iif(i % 1000 = 0, 'rare', 'common'), 'op', 1, x'00', x'00',
         iif(i % 3000 = 0, 'failed', 'completed'), 'o', 1, 1, 0, iif(i % 3000 = 0, '{"order":"7"}', NULL), ?, ?, ?,
         'full', iif(i % 3000 = 0, NULL, 200), '[]', x'00112233'
       FROM n`,
    )
    .run(count, sampleIdentity("any").scopeHash, nowUs, nowUs, nowUs + 60_000_000);
  database.exec(
    "INSERT INTO ichido_labels SELECT 'order', '7', key, scope_hash FROM ichido_records WHERE labels IS NOT NULL",
  );
  database.exec("COMMIT");
}

async function keysOf(query: Omit<ListQuery, "limit" | "cursor">, limit: number): Promise<string[]> {
  const keys: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...query, limit, ...(cursor !== undefined && { cursor }) });
    keys.push(...page.records.map((record) => record.identity.key));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return keys;
}

const every = (step: number, count: number) =>
  Array.from({ length: Math.ceil(count / step) }, (_, index) => `key-${String(index * step).padStart(6, "0")}`);

describe("sqlite: large tables", () => {
  const count = 16_000;

  it("S17 few matches among many records are all found, in order, once", async () => {
    fill(count);
    expect(await keysOf({ tenant: "rare" }, 3)).toEqual(every(1_000, count));
    expect(await keysOf({ tenant: "rare" }, 1_000)).toEqual(every(1_000, count));
    expect(await keysOf({ state: "failed" }, 2)).toEqual(every(3_000, count));
    expect(await keysOf({ label: { name: "order", value: "7" } }, 4)).toEqual(every(3_000, count));
    expect(await keysOf({ label: { name: "order", value: "7" }, key: "key-003000" }, 4)).toEqual(["key-003000"]);
    expect(await keysOf({ key: "key-012345" }, 10)).toEqual(["key-012345"]);
    expect(await keysOf({ tenant: "nobody" }, 10)).toEqual([]);
    expect(await keysOf({}, 1_000)).toEqual(every(1, count));
  });

  it("S17 a long listing and a count let other work of the process run in between", async () => {
    fill(count);
    await store.ping();
    for (const ask of [() => store.list({ tenant: "nobody", limit: 10 }), () => store.stats()]) {
      let turns = 0;
      let asking = true;
      const turn = (): void => {
        turns += 1;
        if (asking) setImmediate(turn);
      };
      setImmediate(turn);
      await ask();
      asking = false;
      expect(turns).toBeGreaterThanOrEqual(3);
    }
  });

  it("S17 counts add up over slices", async () => {
    fill(count);
    const failed = every(3_000, count).length;
    expect(await store.stats()).toMatchObject({
      records: count,
      completed: count - failed,
      failed,
      processing: 0,
      unknown: 0,
      bodyBytes: 4 * count,
      sweepLagMs: 0,
    });
  });

  it("S12 a sweep goes on from call to call and takes labels along", async () => {
    fill(2_500);
    for (let minute = 0; minute < 6; minute += 1) {
      await clock.advance(60_000);
      await store.tick({ intervalMs: 60_000 });
    }
    expect(await store.sweep({ limit: 1_000, budgetMs: 60_000 })).toEqual({
      deleted: 1_000,
      more: true,
      guarded: false,
    });
    expect(await store.sweep({ limit: 1_000, budgetMs: 0 }), "at least one batch").toMatchObject({ more: true });
    const last = await store.sweep({ limit: 100_000, budgetMs: 60_000 });
    expect(last).toMatchObject({ more: false });
    expect(await store.stats()).toMatchObject({ records: 0 });
    expect(database.prepare("SELECT count(*) AS n FROM ichido_labels").get()).toMatchObject({ n: 0 });
  });

  it("a log that grew under a long reader is cut back by the next sweep", async () => {
    for (let minute = 0; minute < 6; minute += 1) {
      await clock.advance(60_000);
      await store.tick({ intervalMs: 60_000 });
    }
    const reader = new DatabaseSync(file.path);
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM ichido_records").get();
    const body = new Uint8Array(1_048_576);
    for (let index = 0; index < 20; index += 1) {
      const [identity, owner] = [sampleIdentity(`key-${index}`), sampleOwner("owner")];
      const request = { identity, owner, fingerprint: sampleFingerprint(), leaseMs: 30_000, retentionMs: 86_400_000 };
      const result = await store.claim({ ...request, takeover: "none" });
      if (result.outcome !== "granted") throw new Error(result.outcome);
      await store.complete({ identity, owner, fence: result.fence, response: sampleResponse({ body }) });
    }
    const logBytes = () => statSync(`${file.path}-wal`).size;
    await store.sweep({ limit: 10, budgetMs: 100 });
    expect(logBytes(), "a reader still needs it").toBeGreaterThan(16_000_000);
    reader.exec("ROLLBACK");
    reader.close();
    await store.sweep({ limit: 10, budgetMs: 100 });
    expect(logBytes()).toBe(0);
    expect(await store.stats()).toMatchObject({ records: 20 });
  });
});
