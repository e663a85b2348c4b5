/** How SQLite looks for letters: unlike the servers, it takes no index where a filter may be switched off. */
import { createIchido } from "ichido";
import { createInbox } from "ichido/inbox";
import { memoryStore } from "ichido/memory";
import { nodeSqliteTransactions, type TransactionHandle, type TransactionRunner } from "ichido/transactions";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { dayMs, message } from "./inbox-messages.ts";

/** Asks how every reading of letters is done, right before it. */
function explained(runner: TransactionRunner<unknown>, plans: string[]): TransactionRunner<unknown> {
  const through = (handle: TransactionHandle): TransactionHandle => ({
    ...handle,
    async execute(sql, values, options) {
      if (/^select .*inbox_dead/i.test(sql)) {
        const { rows } = await handle.execute(`explain query plan ${sql}`, values);
        plans.push(...rows.map((row) => String(row["detail"])));
      }
      return handle.execute(sql, values, options);
    },
  });
  return {
    dialect: runner.dialect,
    run: (fn, options) => runner.run((tx, handle) => fn(tx, through(handle)), options),
  };
}

test("a message under a lease finds out by an index that there is no letter of it", async () => {
  const database = new DatabaseSync(":memory:");
  onTestFinished(() => database.close());
  const plans: string[] = [];
  const inbox = createInbox({
    transactions: explained(nodeSqliteTransactions(database), plans),
    ichido: createIchido({ store: memoryStore(), dangerouslyShareKeys: true, onUnknown: "rerun", onEvent: () => {} }),
    retentionMs: dayMs,
  });
  await inbox.migrate();
  expect(await inbox.run(message(), "plain", () => undefined)).toEqual({ outcome: "processed" });
  expect(plans).not.toEqual([]);
  for (const plan of plans) expect(plan).toMatch(/^SEARCH .* INDEX .*\(handler=\? AND id=\? AND print=\?\)/);
});
