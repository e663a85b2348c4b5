import pg from "pg";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createIchido } from "ichido";
import { postgresStore, type PostgresStoreOptions } from "ichido/postgres";
import { describeWith, freshDatabase, startPgbouncer, type FreshDatabase } from "../support/services.ts";

describeWith(["postgres", "pgbouncer"], "a pooler before PostgreSQL", (url) => {
  let database: FreshDatabase;
  beforeEach(async () => {
    database = await freshDatabase(url);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await database.drop();
  });

  /** What `start()` says on standard error. */
  async function saidAt(connectionString: string, options: PostgresStoreOptions): Promise<readonly string[]> {
    const said = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const pool = new pg.Pool({ connectionString, max: 3 });
    pool.on("error", () => {});
    const store = postgresStore(pool, options);
    const ichido = createIchido({ store, scope: () => ({ principal: "p" }), onUnknown: "rerun" });
    try {
      await store.migrate();
      await ichido.start();
      await ichido.health();
      return said.mock.calls.map(([message]) => String(message));
    } finally {
      await ichido.close();
      await store.close();
      await pool.end();
    }
  }

  test("start() tells once of listen: true, which hears nothing through it; not on a direct way, nor without it", async () => {
    const pooler = await startPgbouncer(url, { poolMode: "transaction", poolSize: 3 });
    try {
      const pooled = new URL(pooler.url);
      pooled.pathname = new URL(database.url).pathname;
      expect(await saidAt(pooled.href, { listen: true })).toEqual([
        expect.stringMatching(/pooler.*listen: \{ connect \}/),
      ]);
      vi.restoreAllMocks();
      expect(await saidAt(pooled.href, {})).toEqual([]);
      vi.restoreAllMocks();
      expect(await saidAt(database.url, { listen: true, prepare: true })).toEqual([]);
    } finally {
      await pooler.stop();
    }
  });
});
