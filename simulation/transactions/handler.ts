/** A handler that follows its script: entries in a transaction with its answer, and everything that may go wrong in one. */
import type { Context } from "../../packages/ichido/src/core/contract/context.ts";
import type { TransactionHandle, TransactionRunner } from "../../packages/ichido/src/core/contract/transaction.ts";
import type { Machine } from "../machine.ts";
import { createRandom, type Random } from "../random.ts";
import { insertEntry, strayPlace } from "./database.ts";
import type { Judge, Said } from "./judge.ts";
import type { Client } from "./link.ts";
import type { RoutePlan } from "./plan.ts";
import type { Run, TransactionsWorld } from "./world.ts";

/** What the handler came to: an answer, or nothing because the context has made one. */
export type Made = { readonly status: number; readonly said: Said } | "made";

export interface HandlerParts {
  readonly world: TransactionsWorld;
  readonly judge: Judge;
  readonly machine: Machine;
  readonly route: RoutePlan;
  /** As the process runs it: of this version of the route or of the one before. */
  readonly mode: "lease" | "transaction";
  readonly charges: boolean;
  readonly context: Context;
  readonly run: Run;
  readonly script: Script;
  readonly transactions: TransactionRunner<Client>;
}

export interface Script {
  readonly way: "bare" | "throws" | "body" | "own";
  readonly status: number;
  readonly writes: number;
  /** Before each statement, and after the last. */
  readonly pausesMs: readonly number[];
  readonly goesWrong: "throws" | "refused" | "caught" | "deferred" | "waits" | "hangs" | undefined;
  /** By the client itself, not by the handle that is checked. */
  readonly isRaw: boolean;
  /** A statement that nobody waited for, long after the body has returned. */
  readonly straysMs: number | undefined;
  readonly onError: "throws" | "declines" | "tries-again";
  /** Somebody else answers while the handler still runs. */
  readonly early:
    | { readonly from: "start" | "completion"; readonly afterMs: number; readonly status: number }
    | undefined;
}

function wrongOf(random: Random, { plan }: TransactionsWorld): Script["goesWrong"] {
  const { habits } = plan;
  const wrongs = ["throws", "refused", "deferred", "waits", "hangs"] as const;
  const wrong = random.pick(wrongs);
  if (!random.chance(habits[wrong])) return undefined;
  return wrong === "refused" && random.chance(0.5) ? "caught" : wrong;
}

function wayOf(random: Random, world: TransactionsWorld, mode: "lease" | "transaction"): Script["way"] {
  const { bare, own, throws } = world.plan.habits;
  if (random.chance(bare)) return random.chance(throws) ? "throws" : "bare";
  return mode === "lease" && random.chance(own) ? "own" : "body";
}

export function scriptOf(world: TransactionsWorld, mode: "lease" | "transaction", charges: boolean): Script {
  const { plan, isQuiet } = world;
  const { habits, executionMs } = plan;
  const random = createRandom(plan.seed, world.runs.length, 31);
  const writes = random.int(1, 3);
  const slow = !isQuiet && random.chance(habits.slow);
  const most = slow ? executionMs : random.chance(0.5) ? 2 : 120;
  const pausesMs = Array.from({ length: writes + 1 }, () => random.between(0, most));
  const from = random.chance(0.5) ? "start" : "completion";
  const afterMs = random.between(0, from === "start" ? most * writes : 4);
  const status = random.pick(charges ? [503, 402] : [503, 402, 429]);
  const early = random.chance(habits.early) ? ({ from, afterMs, status } as const) : undefined;
  const script: Script = {
    way: wayOf(random, world, mode),
    status: random.chance(0.7) ? 201 : 402,
    writes,
    pausesMs,
    goesWrong: wrongOf(random, world),
    isRaw: random.chance(0.5),
    straysMs: random.chance(habits.strays) ? random.between(0, random.chance(0.5) ? 5 : 300) : undefined,
    onError: random.pick(["throws", "declines", "tries-again"] as const),
    early,
  };
  if (!isQuiet) return script;
  return { ...script, way: "body", goesWrong: undefined, straysMs: undefined, early: undefined };
}

const stock = "stock";

export async function runHandler(parts: HandlerParts): Promise<Made> {
  const { world, judge, machine, context, run, script, route } = parts;
  const { key } = run;
  const pause = (ms: number): Promise<void> => new Promise((resolve) => machine.after(ms, resolve));
  const [first = 0] = script.pausesMs;

  /** Each body has its own name: what it wrote is told apart from what another one did. */
  async function write(body: string, tx: Client, handle: TransactionHandle): Promise<number> {
    let written = 0;
    const add = (account = 1, locks?: string): Promise<unknown> => {
      const values = [key, body, written, account];
      if (locks !== undefined) return tx.query({ sql: insertEntry, values, locks });
      return script.isRaw ? tx.query({ sql: insertEntry, values }) : handle.execute(insertEntry, values);
    };
    for (const [place, pauseMs] of script.pausesMs.entries()) {
      await pause(pauseMs);
      if (place === script.writes) break;
      const wrong = place === script.writes - 1 ? script.goesWrong : undefined;
      if (wrong === "throws") throw new Error("the body fails");
      if (wrong === "hangs") await new Promise(() => undefined);
      await add(wrong === "deferred" ? 2 : 1, wrong === "waits" ? stock : undefined);
      // The same place twice.
      if (wrong === "refused") await add();
      if (wrong === "caught") await add().catch(() => undefined);
      written += 1;
    }
    if (script.straysMs !== undefined) {
      // Some are refused: the place is taken.
      const place = script.isRaw ? 0 : strayPlace;
      machine.after(script.straysMs, () => {
        handle.execute(insertEntry, [key, body, place, 1]).catch(() => undefined);
      });
    }
    return written;
  }

  async function answerIn(
    body: string,
    tx: Client,
    handle: TransactionHandle,
  ): Promise<{ status: number; body: Said }> {
    const writes = await write(body, tx, handle);
    return { status: script.status, body: { key, by: body, writes } };
  }

  async function transact(body: string): Promise<Made> {
    await context.transaction<Client>((tx, handle) => answerIn(body, tx, handle));
    judge.resolved(key, body);
    return "made";
  }

  /** As those do who commit themselves, with a bound of their own. */
  async function commitOwn(body: string): Promise<Made> {
    const { callMs, executionMs } = world.plan;
    const own = async (tx: Client, handle: TransactionHandle): Promise<void> => {
      const timer = machine.after(executionMs, () => handle.giveUp?.());
      await context.complete(handle, await answerIn(body, tx, handle)).finally(() => timer.cancel());
    };
    await parts.transactions.run(own, { callMs });
    judge.resolved(key, body);
    return "made";
  }

  async function declined(body: string, error: unknown): Promise<Made> {
    // Who has charged cannot say that nothing happened.
    if (script.onError === "throws" || (parts.charges && script.onError === "declines")) throw error;
    if (script.onError === "tries-again") {
      await pause(first);
      return transact(`${body}again`);
    }
    return { status: 402, said: { key, by: run.name, writes: 0 } };
  }

  if (parts.charges) judge.charged(key, run.name);
  world.note(`${run.name} is to be ${script.way} ${script.goesWrong ?? ""} ${route.mode}`);
  if (script.way === "bare" || script.way === "throws") {
    await pause(first);
    if (script.way === "throws") throw new Error("the handler fails");
    return { status: parts.charges ? 201 : script.status, said: { key, by: run.name, writes: 0 } };
  }
  const body = `${run.name}.1`;
  return (script.way === "own" ? commitOwn(body) : transact(body)).catch((error: unknown) => declined(body, error));
}
