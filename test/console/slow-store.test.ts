/** Questions of people must not stand in the way of requests, however slow the store is with them. */
import { createIchido, type Store } from "ichido";
import { postgresStore } from "ichido/postgres";
import { Pool } from "pg";
import { expect, test } from "vitest";
import type { ProblemAnswer } from "../../packages/ichido/src/console/contract.ts";
import { describeWith, freshDatabase } from "../support/services.ts";
import { visit } from "./visitor.ts";

describeWith("postgres", "a store that is slow with questions", (url) => {
  test("leaves most of the pool to requests, gives up in time, and asks on when it is fast again", async () => {
    await using database = await freshDatabase(url);
    const pool = new Pool({ connectionString: database.url, max: 5 });
    const store = postgresStore(pool);
    await store.migrate();
    let isSlow = true;
    // A query that takes seconds on a connection of the same pool, as a list over many records would.
    const slow = new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (name !== "list") return member;
        return async (query: never) => {
          if (isSlow) await pool.query("select pg_sleep(4)");
          return store.list(query);
        };
      },
    }) as Store;
    const ichido = createIchido({ store, dangerouslyShareKeys: true, onUnknown: "rerun" });
    const visitor = visit({ store: slow }, { storeTimeoutMs: 500 });
    const askedMs = performance.now();
    const asked = Array.from({ length: 20 }, () => visitor.get<ProblemAnswer>("api/keys"));

    await new Promise((resolve) => setTimeout(resolve, 100));
    const paidMs = performance.now();
    for (let count = 0; count < 5; count += 1)
      await ichido.run({ operation: "pay", scope: { principal: "p" }, key: `key-number-${count}` }, () => count);
    expect(performance.now() - paidMs).toBeLessThan(2_000);

    for (const { status, body } of await Promise.all(asked)) expect([status, body.code]).toEqual([503, "timeout"]);
    expect(performance.now() - askedMs).toBeLessThan(3_000);
    // Those that were given up still hold their places: more would take the rest of the pool.
    expect((await visitor.get<ProblemAnswer>("api/keys")).body.code).toBe("timeout");
    isSlow = false;
    await new Promise((resolve) => setTimeout(resolve, 4_500));
    expect((await visitor.get("api/keys")).status).toBe(200);

    visitor.console.close();
    await ichido.close();
    await store.close();
    await pool.end();
  }, 30_000);
});
