/** How the servers run a relay's readings. */
import { createOutbox, createRelay } from "ichido/outbox";
import type { TransactionHandle, TransactionRunner } from "ichido/transactions";
import { expect, onTestFinished, test } from "vitest";
import { openSide } from "../effects/sides.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase } from "../support/services.ts";
import { wire } from "./outbox-bed.ts";

interface Plan {
  readonly sql: string;
  readonly lines: readonly string[];
}

/** Asks for the plan of every reading right before it, in its own transaction. */
function explained(runner: TransactionRunner<unknown>, plans: Plan[]): TransactionRunner<unknown> {
  const through = (handle: TransactionHandle): TransactionHandle => ({
    ...handle,
    async execute(sql, values, options) {
      if (sql.includes("order by o.seq")) plans.push({ sql, lines: await planOf(handle, sql, values) });
      return handle.execute(sql, values, options);
    },
  });
  return {
    dialect: runner.dialect,
    run: (fn, options) => runner.run((tx, handle) => fn(tx, through(handle)), options),
  };
}

async function planOf(handle: TransactionHandle, sql: string, values: readonly unknown[]): Promise<readonly string[]> {
  const { rows } = await handle.execute(`explain ${sql}`, values);
  return rows.map((row) => Object.values(row).join(" "));
}

const isCompiled = (lines: readonly string[]): boolean => lines.some((line) => line.startsWith("JIT:"));

/** Plans of readings that begin above the oldest numbers: past more events than a reading goes back. */
async function plansAbove(runner: TransactionRunner<unknown>): Promise<readonly Plan[]> {
  const plans: Plan[] = [];
  const publisher = wire();
  const outbox = createOutbox({
    transactions: explained(runner, plans),
    source: "/shop",
    topics: { "*": { to: "wire" } },
  });
  await outbox.migrate();
  const relay = createRelay(outbox, { routes: { wire: publisher } });
  onTestFinished(() => relay.stop());
  await relay.start();
  for (let round = 1; round <= 4; round += 1) {
    await outbox.transaction(async (_tx, handle) => {
      for (let at = 0; at < 400; at += 1)
        await outbox.add(handle, { topic: "order.paid", key: `k${round}-${at}`, payload: at });
    });
    await eventually(() => expect(publisher.sent).toHaveLength(round * 400), 30_000);
  }
  return plans.filter(({ sql }) => !sql.includes("o.seq > 0 "));
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
    expect(plans.filter(({ lines }) => isCompiled(lines))).toEqual([]);
    const sql = plans.at(-1)?.sql ?? "";
    const other = await later.runner.run((_tx, handle) => planOf(handle, sql.replaceAll(/\$\d/g, "''"), []));
    expect(isCompiled(other), "the same reading by itself would be").toBe(true);
  });

  test("find what stands before an event by the index of keys, and not past all that was removed", async () => {
    await using database = await freshDatabase(server);
    const side = openSide("postgres", database.url);
    onTestFinished(() => side.close());
    const plans = await plansAbove(side.runner);
    expect(plans.length).toBeGreaterThan(0);
    for (const { lines } of plans) {
      const [scan] = lines.filter((line) => line.includes(" on ichido_outbox e "));
      expect(scan).toMatch(/Index (?:Only )?Scan using ichido_outbox_key/);
    }
  });
});

describeWith("mariadb", "the relay's readings on MariaDB", (server) => {
  test("find what stands before an event by the index of keys, and not past all that was removed", async () => {
    await using database = await freshDatabase(server);
    const side = openSide("mysql", database.url);
    onTestFinished(() => side.close());
    const plans = await plansAbove(side.runner);
    expect(plans.length).toBeGreaterThan(0);
    for (const { lines } of plans) {
      const [step] = lines.filter((line) => / e (?:ref|range) /.test(line));
      expect(step).toMatch(/DEPENDENT SUBQUERY e ref ichido_outbox_key ichido_outbox_key /);
    }
  });
});
