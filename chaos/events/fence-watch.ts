/**
 * Looks at what a relay commits. The last thing every turn writes is the row of its session: a turn that found no such row
 * and was committed all the same is one of a relay whose lanes are another one's by now.
 */
import type { TransactionHandle, TransactionRunner } from "../../packages/ichido/src/core/contract/transaction.ts";

const holdsSession = /update \S*outbox_relays\s+set until_ms/;

export function watchFence(runner: TransactionRunner<unknown>, onUnfenced: () => void): TransactionRunner<unknown> {
  return {
    ...runner,
    dialect: runner.dialect,
    async run(fn, options) {
      let isOver = false;
      const value = await runner.run(async (tx, handle) => {
        const seen: TransactionHandle = {
          dialect: handle.dialect,
          writesAlone: handle.writesAlone,
          async execute(sql, values, how) {
            const result = await handle.execute(sql, values, how);
            // A turn of one statement answers by rows.
            const found = /^\s*with\b/.test(sql) ? result.rows.length : result.affected;
            if (holdsSession.test(sql) && found === 0) isOver = true;
            return result;
          },
        };
        return fn(tx, seen);
      }, options);
      if (isOver) onUnfenced();
      return value;
    },
  };
}
