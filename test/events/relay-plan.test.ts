/** How PostgreSQL runs a relay's readings. */
import { createOutbox, createRelay } from "ichido/outbox";
import type { TransactionHandle, TransactionRunner } from "ichido/transactions";
import { expect, onTestFinished, test } from "vitest";
import { openSide } from "../effects/sides.ts";
import { describeWith, freshDatabase } from "../support/services.ts";
import { wire } from "./outbox-bed.ts";

interface Plan {
  readonly sql: string;
  readonly isCompiled: boolean;
}

/** Asks for the plan of every reading right before it, in its own transaction. */
function explained(runner: TransactionRunner<unknown>, plans: Plan[]): TransactionRunner<unknown> {
  const through = (handle: TransactionHandle): TransactionHandle => ({
    ...handle,
    async execute(sql, values, options) {
      if (sql.includes("order by o.seq")) plans.push({ sql, isCompiled: await isCompiled(handle, sql, values) });
      return handle.execute(sql, values, options);
    },
  });
  return {
    dialect: runner.dialect,
    run: (fn, options) => runner.run((tx, handle) => fn(tx, through(handle)), options),
  };
}

async function isCompiled(handle: TransactionHandle, sql: string, values: readonly unknown[]): Promise<boolean> {
  const { rows } = await handle.execute(`explain ${sql}`, values);
  return rows.some((row) => String(row["QUERY PLAN"]).startsWith("JIT:"));
}

describeWith("postgres", "the relay's readings on PostgreSQL", (server) => {
  test("are never compiled, whatever the server thinks that they cost", async (context) => {
    await using database = await freshDatabase(server);
    const side = openSide("postgres", database.url);
    const found = await side.runner.run(async (_tx, handle) => {
      const name = new URL(database.url).pathname.slice(1);
      await handle.execute(`alter database "${name}" set jit = on`, []);
      await handle.execute(`alter database "${name}" set jit_above_cost = 0`, []);
      await handle.execute("set local jit = on", []);
      return (await handle.execute("select pg_jit_available() as can", [])).rows[0];
    });
    await side.close();
    const later = openSide("postgres", database.url);
    onTestFinished(() => later.close());
    if (found?.["can"] !== true) context.skip("this server was built without a compiler");
    const plans: Plan[] = [];
    const publisher = wire();
    // What is sent is removed and the next is read in one statement, or, where it is kept, step by step.
    for (const keepSentMs of [0, 60_000]) {
      const outbox = createOutbox({
        transactions: explained(later.runner, plans),
        source: "/shop",
        topics: { "*": { to: "wire" } },
        keepSentMs,
      });
      await outbox.migrate();
      await outbox.transaction((_tx, handle) => outbox.add(handle, { topic: "order.paid", key: "k", payload: 1 }));
      const relay = createRelay(outbox, { routes: { wire: publisher } });
      await relay.tick();
      await relay.stop();
    }
    expect(publisher.sent).toHaveLength(2);
    expect(plans.map(({ sql }) => sql.slice(0, 6))).toEqual(["with g", "select"]);
    expect(plans.filter((plan) => plan.isCompiled)).toEqual([]);
    const sql = plans.at(-1)?.sql ?? "";
    const other = await later.runner.run((_tx, handle) => isCompiled(handle, sql.replaceAll(/\$\d/g, "''"), []));
    expect(other, "the same reading by itself would be").toBe(true);
  });
});
