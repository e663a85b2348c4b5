/** The store's verbs, by themselves: outside the caller's transactions, each on what is committed, under the locks it needs. */
import type { Identity } from "../../packages/ichido/src/core/contract/record.ts";
import type { ClaimRequest, RenewRequest } from "../../packages/ichido/src/core/contract/store.ts";
import { claim } from "../../packages/ichido/src/stores/sqlite/claim.ts";
import { find, landed, steps } from "../../packages/ichido/src/stores/sqlite/inspect.ts";
import {
  complete,
  finishStep,
  release,
  renew,
  startStep,
  suspend,
} from "../../packages/ichido/src/stores/sqlite/owned.ts";
import type { Session } from "../../packages/ichido/src/stores/sqlite/session.ts";
import { settle } from "../../packages/ichido/src/stores/sqlite/settle.ts";
import { tick } from "../../packages/ichido/src/stores/sqlite/sweep.ts";
import { statementsFor } from "../../packages/ichido/src/stores/sqlite/statements.ts";
import { prefixDefault } from "../../packages/ichido/src/sql/table-prefix.ts";
import type { WriteQueue } from "../../packages/ichido/src/stores/sqlite/write-queue.ts";
import { connection, read, write } from "./database.ts";
import type { Judge } from "./judge.ts";
import { locked, lockOf, type Locks } from "./locks.ts";
import type { TransactionsWorld } from "./world.ts";

const statements = statementsFor(prefixDefault);

const verbs: Readonly<Record<string, (session: Session, request: never) => Promise<unknown>>> = {
  claim,
  complete,
  release,
  renew,
  suspend,
  landed,
  find,
  steps,
  startStep,
  finishStep,
  settle,
  tick,
};

function keysOf(verb: string, [request]: readonly unknown[]): readonly string[] {
  if (verb === "tick") return [];
  if (verb === "renew") return (request as readonly RenewRequest[]).map(({ identity }) => identity.key);
  if (verb === "find" || verb === "steps") return [(request as Identity).key];
  return [(request as Pick<ClaimRequest, "identity">).identity.key];
}

export function createVerbs(
  world: TransactionsWorld,
  judge: Judge,
  locks: Locks,
): (verb: string, args: readonly unknown[]) => Promise<unknown> {
  const { plan } = world;

  /** Holds all of them while it runs; undefined where they could not be had in time. */
  async function holding<Value>(
    names: readonly string[],
    forMs: number,
    run: () => Value,
  ): Promise<{ readonly value: Value } | undefined> {
    const owner = {};
    const untilMs = world.nowMs + forMs;
    try {
      for (const name of new Set(names)) {
        const isHad = await new Promise<boolean>((resolve) => {
          locks.take(
            name,
            owner,
            untilMs - world.nowMs,
            () => resolve(true),
            () => resolve(false),
          );
        });
        if (!isHad) return undefined;
      }
      return { value: run() };
    } finally {
      locks.free(owner);
    }
  }

  function turnsFor(verb: string, keys: readonly string[]): WriteQueue {
    const names = keys.map((key) => lockOf(plan, key));
    const writing = <Value>(run: () => Value): Value => {
      const value = write(run);
      for (const key of keys) judge.written(key, verb);
      return value;
    };
    return {
      read: async (run) => read(run),
      async write(run) {
        const done = await holding(names, plan.lockMs, () => writing(run));
        if (done === undefined) throw locked();
        return done.value;
      },
      async tryWrite(run, waitMs) {
        const done = await holding(names, Math.min(waitMs, plan.lockMs), () => writing(run));
        return done === undefined ? "busy" : done.value;
      },
    };
  }

  return async (verb, args) => {
    const keys = keysOf(verb, args);
    const nowUs = (): number => world.databaseNowUs();
    const session: Session = { connection, statements, queue: turnsFor(verb, keys), nowUs, testUs: nowUs };
    const serve = verbs[verb];
    if (serve === undefined) throw new Error(`no verb ${verb} here`);
    return serve(session, args[0] as never);
  };
}
