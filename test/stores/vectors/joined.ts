/** The verbs that can join a caller's transaction, each in one of its own that commits. */
import type { Store } from "ichido";
import type { TransactionRunner } from "ichido/transactions";
import { FenceLost } from "../../../packages/ichido/src/core/engine/steps.ts";
import type { Bed } from "./check.ts";

export interface Joining {
  readonly runner: TransactionRunner<unknown>;
  /** The answer travels with COMMIT, where the runner can send it so. */
  readonly last?: boolean;
  /** A record that is born on a transaction has its answer when that commits; whether a doubt would stay is not asked. */
  readonly bornInDoubt?: boolean;
}

export function joined(bed: Bed, { runner, last = false, bornInDoubt = false }: Joining): Bed {
  return {
    ...bed,
    alsoLeaves: ({ verb, before, after }) =>
      bornInDoubt && verb === "claim" && before === undefined && after !== undefined
        ? [{ ...after, doubtStays: true }]
        : [],
    async arrange(placed, tick) {
      const store = await bed.arrange(placed, tick);
      const inside: Store = {
        ...store,
        claim: (request) => runner.run((_, handle) => store.claim({ ...request, waitMs: 10_000 }, handle)),
        complete: (request) =>
          runner
            .run((_, handle) => store.complete({ ...request, ...(last && { endsTransaction: true }) }, handle))
            .catch(async (error: unknown) => {
              if (!last || !(error instanceof FenceLost)) throw error;
              // It is never sent twice, so that it need not know its own work.
              const record = await store.find(request.identity);
              const isOwn = record?.owner === request.owner && record.fence === request.fence;
              return isOwn && record.state === "completed" ? ("ok" as const) : ("stale" as const);
            }),
      };
      return inside;
    },
  };
}
