/**
 * The store as a process sees it: a driver that speaks to the far end over a network which delays, loses and repeats. Calls
 * that may be made twice are sent again after a lost or missing answer, as the drivers of real stores do.
 */
import type { ClaimRequest, ClaimResult, CompleteRequest, Store } from "../packages/ichido/src/core/contract/store.ts";
import { sentAgain } from "../packages/ichido/src/core/record-machine/claim.ts";
import {
  CommitFailed,
  type TransactionHandle,
  type TransactionRunner,
} from "../packages/ichido/src/core/contract/transaction.ts";
import type { OpenTransaction, RowWrite } from "./database.ts";
import type { Machine } from "./machine.ts";
import { createRandom } from "./random.ts";
import type { Statement, StoreServer } from "./store-server.ts";
import type { World } from "./world.ts";

const repeatable = new Set(["claim", "complete", "renew", "startStep", "finishStep", "steps", "find", "tick", "ping"]);
const lastWords = new Set(["complete", "release", "suspend"]);
const triesMax = 3;
const tryPart = 0.5;
const lostPauseMs = 5;

class Unreachable extends Error {}

interface Fate {
  readonly toMs: number;
  readonly backMs: number;
  readonly isLost: "before" | "after" | undefined;
  /** The sender is told that its connection broke, at this moment after sending; otherwise it hears nothing. */
  readonly breaksAfterMs: number | undefined;
  /** A second copy arrives this much later. */
  readonly twiceMs: number | undefined;
}

/** What the body of a transaction gets. */
export interface SimulatedTransaction {
  write(row: RowWrite): Promise<void>;
}

interface LinkedHandle extends TransactionHandle {
  readonly send: (statement: Statement) => Promise<unknown>;
}

export interface Link {
  readonly store: Store;
  readonly transactions: TransactionRunner<SimulatedTransaction>;
}

export function linkStore(world: World, machine: Machine, server: StoreServer): Link {
  const { plan, scheduler } = world;
  const { weather, leaseMs, driver } = plan;

  const kinds = [
    ["lost-before", weather.lostBefore],
    ["lost-after", weather.lostAfter],
    ["late", weather.late],
    ["late-there", weather.late],
    ["twice", weather.twice],
    ["slow", weather.slow],
    ["dies", weather.dies],
    ["stalls", weather.stalls],
    ["closes", weather.closes],
    ["meddles", weather.meddles],
  ] as const;

  /** Drawn by the number of the message, so that leaving one fault out changes little else. */
  function fateOf(verb: string): Fate {
    machine.sent += 1;
    const name = `${machine.name}.${machine.sent}`;
    const random = createRandom(plan.seed, machine.number, machine.sent);
    const usual = (): number => random.between(0.2, leaseMs * 0.02 + 1);
    let toMs = usual();
    let backMs = usual();
    let isLost: Fate["isLost"];
    let twiceMs: number | undefined;
    const breaksAfterMs = random.chance(0.5) ? toMs + backMs + random.between(0, leaseMs * 0.2) : undefined;
    const draw = random.next();
    let edge = 0;
    for (const [kind, share] of kinds) {
      edge += share;
      if (draw >= edge || draw < edge - share || !world.strikes(`${name}:${kind}`)) continue;
      machine.isUntroubled &&= kind === "closes" || kind === "meddles";
      world.note(`${machine.name} ${verb} meets ${kind} (${name})`);
      if (kind === "lost-before") isLost = "before";
      else if (kind === "lost-after") isLost = "after";
      else if (kind === "late") backMs = leaseMs * random.between(0.3, 2);
      else if (kind === "late-there") toMs = leaseMs * random.between(0.3, 2);
      else if (kind === "twice") twiceMs = leaseMs * random.between(0, 1.5);
      else if (kind === "slow") {
        toMs = leaseMs * random.between(0, 0.3);
        backMs = leaseMs * random.between(0, 0.3);
      } else if (kind === "dies") scheduler.after(random.between(0, toMs + backMs), () => world.kill(machine));
      else if (kind === "meddles") {
        const wish = random.pick(["hold", "settle"] as const);
        scheduler.after(random.between(0, toMs), () => world.onMeddling(wish));
      } else if (kind === "closes") scheduler.after(random.between(0, toMs + backMs), () => world.onClosing(machine));
      else {
        const forMs = leaseMs * random.between(0.3, 3);
        const first = random.pick(["reply", "timer"] as const);
        scheduler.after(random.between(0, toMs + backMs), () => world.freeze(machine, forMs, first));
      }
    }
    if (lastWords.has(verb) && plan.slowWords > 0) {
      const slow = createRandom(plan.seed, machine.number, machine.sent, 163);
      if (slow.chance(plan.slowWords) && world.strikes(`${name}:slow-word`)) {
        machine.isUntroubled = false;
        toMs += leaseMs * slow.between(0.3, 1.5);
      }
    }
    return { toMs, backMs, isLost, breaksAfterMs, twiceMs };
  }

  function outage(): { readonly refuses: boolean } | undefined {
    const { nowMs } = world;
    return world.outages.find(
      ({ fromMs, toMs, machine: whose }) =>
        nowMs >= fromMs && nowMs < toMs && (whose === undefined || whose === machine),
    );
  }

  function attempt(
    verb: string,
    handle: () => Promise<unknown>,
    timeoutMs: number | undefined,
    isConnected = false,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fate = fateOf(verb);
      const timer =
        timeoutMs === undefined ? undefined : machine.after(timeoutMs, () => reject(new Unreachable("no answer")));
      const answer = (deliver: () => void): void => {
        machine.deliver("reply", () => {
          timer?.cancel();
          deliver();
        });
      };
      const broken = (): void => answer(() => reject(new Unreachable("the connection broke")));
      const away = outage();
      if (away !== undefined) {
        machine.isUntroubled = false;
        if (away.refuses) scheduler.after(fate.toMs, broken);
        return;
      }
      if (fate.isLost !== undefined && fate.breaksAfterMs !== undefined) scheduler.after(fate.breaksAfterMs, broken);
      if (fate.isLost === "before") return;
      const arrive = (isCopy: boolean): void => {
        handle().then(
          (value) => {
            if (isCopy || fate.isLost === "after") return;
            scheduler.after(fate.backMs, () => {
              if (outage()?.refuses === false) return;
              answer(() => resolve(value));
            });
          },
          (error: unknown) => {
            if (!isCopy) scheduler.after(fate.backMs, () => answer(() => reject(error as Error)));
          },
        );
      };
      scheduler.after(fate.toMs, () => arrive(false));
      if (fate.twiceMs !== undefined && verb !== "watch" && !isConnected)
        scheduler.after(fate.toMs + fate.twiceMs, () => arrive(true));
    });
  }

  async function call(verb: string, args: readonly unknown[]): Promise<unknown> {
    const again = driver.repeats && repeatable.has(verb);
    const startedMs = machine.monotonicMs();
    // Some drivers give up long after the engine has.
    const giveUpMs = driver.gives === "up" ? driver.timeoutMs : leaseMs * 4;
    for (let tries = 1; ; tries += 1) {
      const passedMs = machine.monotonicMs() - startedMs;
      const leftMs = Math.max(1, giveUpMs - passedMs);
      const tryMs = again ? Math.min(leftMs, giveUpMs * tryPart) : leftMs;
      if (verb === "claim" && tries > 1) world.sentAgain.add(args[0] as ClaimRequest);
      try {
        const value = await attempt(
          verb,
          () => server.handle(machine, verb, args),
          verb === "watch" ? undefined : tryMs,
        );
        return verb === "claim" && tries > 1 ? sentAgain(value as ClaimResult) : value;
      } catch (error) {
        const nowPassedMs = machine.monotonicMs() - startedMs;
        const isOver = tries >= triesMax || nowPassedMs + lostPauseMs >= giveUpMs;
        if (!again || isOver || !(error instanceof Unreachable)) throw error;
        await new Promise<void>((resolve) => machine.after(lostPauseMs, resolve));
      }
    }
  }

  /** One connection: what failed on it has ended it, and the server notices in its own time. */
  function connect(): LinkedHandle & { readonly transaction: OpenTransaction } {
    const transaction = server.begin(machine);
    let isBroken = false;
    return {
      dialect: "postgres",
      transaction,
      execute: () => Promise.reject(new Error("no statement but the store's own")),
      async send(statement) {
        if (isBroken) throw new Unreachable("the connection is gone");
        try {
          return await attempt(statement.verb, () => server.on(transaction, statement), leaseMs, true);
        } catch (error) {
          if (error instanceof Unreachable) {
            isBroken = true;
            scheduler.after(leaseMs * machine.random.between(0, 1), () => server.broken(transaction));
          }
          throw error;
        }
      },
    };
  }

  const transactions: TransactionRunner<SimulatedTransaction> = {
    dialect: "postgres",
    async run(fn) {
      const handle = connect();
      world.onceGone(machine, () => {
        scheduler.after(leaseMs * machine.random.between(0, 0.5), () => server.broken(handle.transaction));
      });
      const tx: SimulatedTransaction = { write: async (row) => void (await handle.send({ verb: "write", row })) };
      let value: Awaited<ReturnType<typeof fn>>;
      try {
        value = await fn(tx, handle);
      } catch (error) {
        await handle.send({ verb: "rollback" }).catch(() => undefined);
        throw error;
      }
      try {
        await handle.send({ verb: "commit" });
      } catch (cause) {
        throw new CommitFailed("the commit was not answered", { cause });
      }
      return value;
    },
  };

  const linked: Record<string, unknown> = {
    name: "simulated",
    capabilities: {
      ...server.store.capabilities,
      durable: true,
      shared: true,
      transactions: "postgres",
      promise: "simulated",
    },
    // Those that give up late do not keep this word: a starved pool, a blocked loop.
    callTimeoutMs: driver.timeoutMs,
  };
  for (const [verb, value] of Object.entries(server.store)) {
    if (typeof value !== "function" || (verb === "watch" && !plan.watches)) continue;
    linked[verb] = (...args: readonly unknown[]) => {
      const [request, handle] = args as [unknown, LinkedHandle | undefined];
      if (verb === "claim") world.sentMs.set(request as ClaimRequest, world.nowMs);
      if (verb !== "complete" || handle === undefined) return call(verb, args);
      return handle.send({ verb, request: request as CompleteRequest });
    };
  }
  return { store: linked as unknown as Store, transactions };
}
