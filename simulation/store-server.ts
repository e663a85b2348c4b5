/**
 * The store at the far end of the network: the memory store, by a clock of the history's own, with a watcher that reads the
 * record before and after every call and judges what became of it. It knows the store by its contract alone.
 */
import type { Identity } from "../packages/ichido/src/core/contract/record.ts";
import type {
  ClaimRequest,
  CompleteRequest,
  Landed,
  LandedRequest,
  SettleRequest,
  Store,
  StoredRecord,
  TickRequest,
} from "../packages/ichido/src/core/contract/store.ts";
import { memoryStore } from "../packages/ichido/src/stores/memory/index.ts";
import { createLocks, type OpenTransaction, type RowWrite } from "./database.ts";
import { judge, judgeExpiry, judgeSteps } from "./judgement.ts";
import { judgeAudit, judgeLanded } from "./lasting.ts";
import type { Machine } from "./machine.ts";
import { createTicks } from "./ticks.ts";
import { idOf, isOpen, type Seen, type World } from "./world.ts";

export interface StoreServer {
  readonly store: Store;
  /** One call, from its arrival to its effect, as one atomic step. */
  handle(from: Machine, verb: string, args: readonly unknown[]): Promise<unknown>;
  begin(from: Machine): OpenTransaction;
  /** A statement on a transaction. */
  on(transaction: OpenTransaction, statement: Statement): Promise<unknown>;
  /** The connection is gone. */
  broken(transaction: OpenTransaction): void;
}

export type Statement =
  | { readonly verb: "complete"; readonly request: CompleteRequest }
  | { readonly verb: "write"; readonly row: RowWrite }
  | { readonly verb: "commit" | "rollback" };

type Method = (...args: readonly unknown[]) => Promise<unknown>;

const stepVerbs = new Set(["startStep", "finishStep", "release", "settle"]);
/** What reads, and what is noted beside records: none of it changes one. */
const silent = new Set(
  "watch ping tick list stats find steps audit close resources log attempts follow twins suspects note auditLog emptyReasons".split(
    " ",
  ),
);

export function createStoreServer(world: World): StoreServer {
  const store = memoryStore({
    nowMs: () => world.storeNowMs(),
    environment: { after: (delayMs, run) => world.scheduler.after(delayMs, run) },
  });
  const ticks = createTicks();
  const methods = store as unknown as Readonly<Record<string, Method>>;

  function call(verb: string, args: readonly unknown[]): Promise<unknown> {
    const method = methods[verb];
    if (method === undefined) return Promise.reject(new Error(`the store has no ${verb}`));
    return method.apply(store, [...args]);
  }

  async function one(
    from: Machine,
    verb: string,
    request: { readonly identity: Identity },
    args: readonly unknown[],
  ): Promise<unknown> {
    const seen = world.seenOf(request.identity);
    const before = await store.find(request.identity);
    if (verb === "claim" && before === undefined && world.forgetsForMs !== undefined) return forgotten(args);
    const isPastDue = before !== undefined && before.expiresAtMs <= world.storeNowMs();
    const looksAtSteps = verb === "claim" ? isPastDue : stepVerbs.has(verb);
    const stepsBefore = looksAtSteps ? await store.steps(request.identity) : [];
    const result = await call(verb, args);
    const after = await store.find(request.identity);
    const isSteady = ticks.isSteady(world.storeNowMs());
    const change = { seen, from, verb, request, before, after, result, stepsBefore, isSteady };
    judge(world, change);
    if (looksAtSteps && verb !== "claim") judgeSteps(world, change, await store.steps(request.identity));
    if (verb === "settle" && result === "ok")
      judgeAudit(world, request as SettleRequest, await store.audit(request.identity));
    seen.record = after;
    return result;
  }

  /** Granted as new by a store that comes back without it. */
  function forgotten(args: readonly unknown[]): Promise<unknown> {
    const { forgetsForMs = 0 } = world;
    world.forgetsForMs = undefined;
    world.forgot(forgetsForMs);
    world.note(`the store forgets a grant, and its clock stands for ${forgetsForMs.toFixed(0)} ms`);
    const [request] = args as [ClaimRequest];
    return memoryStore({ nowMs: () => world.storeNowMs() }).claim(request);
  }

  async function swept(args: readonly unknown[]): Promise<unknown> {
    const before = new Map<Seen, { readonly record: StoredRecord; readonly unfinished: boolean }>();
    for (const seen of world.seen.values()) {
      if (seen.record === undefined) continue;
      const { identity } = seen.record;
      const record = await store.find(identity);
      const unfinished = (await store.steps(identity)).some(({ state }) => state === "started");
      if (record !== undefined) before.set(seen, { record, unfinished });
    }
    const isSteady = ticks.isSteady(world.storeNowMs());
    const result = await call("sweep", args);
    for (const [seen, { record, unfinished }] of before) {
      if ((await store.find(record.identity)) !== undefined) continue;
      judgeExpiry(world, seen, record, unfinished, isSteady);
      seen.record = undefined;
      seen.leaseUntilMs = undefined;
    }
    return result;
  }

  const locks = createLocks(world);
  /** Identities with the fences under which a transaction committed. */
  const committed = new Set<string>();
  const lockMs = world.plan.leaseMs * 0.3;
  let transactions = 0;

  /** What a store answers that could not have the row: somebody is writing it at this very moment. */
  function whileLocked(verb: string, [request]: readonly unknown[]): unknown {
    if (verb === "claim") {
      const claim = request as ClaimRequest;
      const { asked } = world.seenOf(claim.identity);
      if (!asked.has(claim)) asked.set(claim, "processing");
      return { outcome: "processing", leaseLeftMs: 1_000, attempts: 1 };
    }
    if (verb === "landed") return "busy";
    throw new Error("the row is locked");
  }

  function end(transaction: OpenTransaction, state: "committed" | "rolled-back"): void {
    transaction.state = state;
    locks.free(transaction);
  }

  async function commit(transaction: OpenTransaction): Promise<void> {
    const { completion, writes, from } = transaction;
    if (transaction.state !== "open") throw new Error("there is no transaction");
    if (completion === undefined && writes.length > 0) {
      world.violate("row-without-answer", `${from.name} commits ${writes[0]?.intent ?? ""} without its answer`);
    }
    if (completion !== undefined && (await one(from, "complete", completion, [completion])) !== "ok") {
      world.violate("row-without-answer", `${idOf(completion.identity)}: the locked record was taken`);
    }
    if (completion !== undefined) committed.add(`${idOf(completion.identity)} ${completion.fence}`);
    for (const row of writes) world.wroteRow(row);
    end(transaction, "committed");
  }

  return {
    store,
    begin(from) {
      transactions += 1;
      return { number: transactions, from, writes: [], completion: undefined, state: "open" };
    },
    async on(transaction, statement) {
      world.counts.storeCalls += 1;
      if (transaction.state !== "open") throw new Error("there is no transaction");
      switch (statement.verb) {
        case "write":
          transaction.writes.push(statement.row);
          return undefined;
        case "complete": {
          const { identity, owner, fence } = statement.request;
          if (!(await locks.wait(identity, lockMs))) throw new Error("the row is locked");
          const record = await store.find(identity);
          const holds = isOpen(record) && record.owner === owner && record.fence === fence;
          world.note(
            `transaction ${transaction.number} of ${transaction.from.name} completes ${idOf(identity)}: ${holds ? "ok" : "stale"}`,
          );
          if (!holds) return "stale";
          locks.take(identity, transaction);
          transaction.completion = statement.request;
          return "ok";
        }
        case "commit":
          world.note(`transaction ${transaction.number} commits`);
          return commit(transaction);
        case "rollback":
          return end(transaction, "rolled-back");
      }
    },
    broken(transaction) {
      if (transaction.state !== "open") return;
      world.note(`transaction ${transaction.number} ends with its connection`);
      end(transaction, "rolled-back");
    },
    async handle(from, verb, args) {
      world.counts.storeCalls += 1;
      if (verb === "tick") ticks.note(world.storeNowMs(), (args[0] as TickRequest).intervalMs);
      if (silent.has(verb)) return call(verb, args);
      const [locked] = args as [{ readonly identity?: Identity } | undefined];
      const isFree = locked?.identity === undefined || (await locks.wait(locked.identity, lockMs));
      if (!isFree) return whileLocked(verb, args);
      if (verb === "landed") {
        const landed = (await call(verb, args)) as Landed;
        judgeLanded(world, args[0] as LandedRequest, landed, committed);
        return landed;
      }
      // What a transaction holds is not for a sweep to take, and the store in memory knows of no locks.
      if (verb === "sweep")
        return locks.isAnyHeld ? { deleted: 0, more: false, guarded: false, busy: true } : swept(args);
      if (verb !== "renew") return one(from, verb, args[0] as { readonly identity: Identity }, args);
      const answers: unknown[] = [];
      for (const request of args[0] as readonly { readonly identity: Identity }[]) {
        answers.push(...((await one(from, verb, request, [[request]])) as readonly unknown[]));
      }
      return answers;
    },
  };
}
