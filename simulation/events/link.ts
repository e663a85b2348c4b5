/** The near end: transactions of one process on the database far away, whose messages may be lost either way. */
import {
  CommitFailed,
  type TransactionResult,
  type TransactionRunner,
} from "../../packages/ichido/src/core/contract/transaction.ts";
import { handleOf, whileOpen } from "../../packages/ichido/src/transactions/handle.ts";
import type { Machine } from "../machine.ts";
import type { Connection, DatabaseServer, Message } from "./server.ts";
import type { EventsWorld } from "./world.ts";

interface Wire {
  readonly connection: Connection;
  /** The near end has given it up. */
  isLost: boolean;
  /** BEGIN was sent, with its first statement. */
  isOpen: boolean;
}

function lost(): Error {
  return new Error("the connection was lost");
}

export function linkDatabase(
  world: EventsWorld,
  server: DatabaseServer,
  machine: Machine,
): TransactionRunner<undefined> {
  const { scheduler, plan } = world;

  function call(wire: Wire, message: Message): Promise<TransactionResult> {
    if (wire.isLost) return Promise.reject(lost());
    const fate = world.fateOf(machine, "to the database");
    const { connection } = wire;
    return new Promise((resolve, reject) => {
      const give = (run: () => void, delayMs: number): void => {
        scheduler.after(delayMs, () =>
          machine.deliver("reply", () => {
            timer.cancel();
            run();
          }),
        );
      };
      const lose = (): void => {
        wire.isLost = true;
        reject(lost());
      };
      // Whatever is still on its way arrives before the end of the connection does.
      const timer = machine.after(plan.callMs, () => {
        lose();
        scheduler.after(Math.max(fate.thereMs, fate.seenMs), () => server.close(connection));
      });
      const broken = (): void => {
        scheduler.after(fate.seenMs, () => server.close(connection));
        if (fate.tells) give(lose, fate.backMs);
      };
      if (world.databaseAwayUntilMs > world.nowMs) return give(lose, fate.backMs);
      if (fate.lost === "before" || world.isCutOff(machine)) return broken();
      scheduler.after(fate.thereMs, () => {
        if (world.databaseAwayUntilMs > world.nowMs) return give(lose, fate.backMs);
        if (world.isCutOff(machine)) return broken();
        server.handle(connection, message, (answer) => {
          if (fate.dies) return world.kill(machine);
          if (fate.lost === "after" || world.isCutOff(machine)) return broken();
          give(() => ("result" in answer ? resolve(answer.result) : reject(answer.error)), fate.backMs);
        });
      });
    });
  }

  return {
    dialect: "sqlite",
    async run(fn) {
      const wire: Wire = { connection: server.connect(machine), isLost: false, isOpen: false };
      const execute = (sql: string, values: readonly unknown[]): Promise<TransactionResult> => {
        const begins = !wire.isOpen;
        wire.isOpen = true;
        return call(wire, { verb: "execute", sql, values, begins });
      };
      const handle = handleOf({
        dialect: "sqlite",
        writesAlone: true,
        inside: () => true,
        execute,
      });
      let value: Awaited<ReturnType<typeof fn>>;
      try {
        value = await whileOpen(handle, (open) => fn(undefined, open));
      } catch (error) {
        if (wire.isOpen) await call(wire, { verb: "rollback" }).catch(() => undefined);
        throw error;
      }
      try {
        if (wire.isOpen) await call(wire, { verb: "commit" });
      } catch (cause) {
        throw new CommitFailed("the commit was sent and its answer is an error or was lost", { cause });
      }
      return value;
    },
  };
}
