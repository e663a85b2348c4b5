/**
 * The operation of the crash matrix: a charge at a provider, then an order in the database, under one key. Also the builds
 * that are wrong on purpose, so that the harness is known to see what it looks for.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store, TransactionHandle } from "ichido";
import type { FaultPoint } from "ichido/testing";
import type { TransactionRunner } from "ichido/transactions";
import type { Handler } from "../effects/callers.ts";
import { addEffect } from "../effects/add-effect.ts";
import type { Side } from "../effects/sides.ts";

export const leaseMs = 400;

export type Scenario =
  /** Charge, then order and answer in one commit. */
  | "pays"
  /** The first attempt fails after the charge: its key is handed back. */
  | "fails"
  /** The provider's answer is lost, and the attempt says so. */
  | "doubts"
  /** No provider: record and order in one transaction from the start. */
  | "orders";

/** `two-commits`: the order first, its completion in another commit. `no-fence`: whoever completes is believed. `no-reference`: every call another. */
export type Defect = "none" | "two-commits" | "no-fence" | "no-reference";

async function charge(providerUrl: string, reference: string, amount: number): Promise<string> {
  const response = await fetch(`${providerUrl}/charges`, {
    method: "POST",
    headers: { "idempotency-key": reference },
    body: JSON.stringify({ amount, currency: "EUR" }),
    signal: AbortSignal.timeout(5_000),
  });
  if (response.status !== 201) throw new Error(`the provider answered ${response.status}`);
  return String((Object(await response.json()) as { id?: unknown }).id);
}

/** `ordersInStore`: the store has transactions, and the order is a row beside the record. Otherwise the charge is all. */
export function handlerOf(
  scenario: Scenario,
  key: string,
  providerUrl: string,
  amount: number,
  ordersInStore = true,
  defect: Defect = "none",
): Handler {
  const order = (context: Parameters<Handler>[0], id: string): Promise<unknown> =>
    context.transaction(async (_tx, handle) => {
      await addEffect(handle, key);
      return { status: 201, body: { key, charge: id } };
    });
  return async (context) => {
    if (scenario === "orders") {
      await order(context, "none");
      return { status: 500 };
    }
    const charging = context.step("bank.charge", async ({ reference }) =>
      charge(providerUrl, defect === "no-reference" ? randomUUID() : reference, amount),
    );
    let id: string;
    try {
      id = await charging;
    } catch (error) {
      if (scenario !== "doubts") throw error;
      await context.unknown({ status: 202, body: { state: "pending" } });
      return { status: 500 };
    }
    // Long enough for the heartbeat to pass its points, too.
    if (context.attempt === 1) await sleep(leaseMs / 2);
    if (scenario === "fails" && context.attempt === 1) throw new Error("out of stock, for now");
    if (!ordersInStore) return { status: 201, body: { key, charge: id } };
    await order(context, id);
    return { status: 500 };
  };
}

export function spoilt(side: Side, defect: Defect, faults: FaultPoint | undefined): Side {
  if (defect === "two-commits") return twoCommits(side, faults);
  return defect === "no-fence" ? { ...side, store: withoutFence(side.store) } : side;
}

function twoCommits(side: Side, faults: FaultPoint | undefined): Side {
  type Completion = Parameters<Store["complete"]>[0];
  const pending = new WeakMap<TransactionHandle, Completion>();
  const { store } = side;
  const runner: TransactionRunner<unknown> = {
    dialect: side.runner.dialect,
    async run(fn) {
      const used: TransactionHandle[] = [];
      const value = await side.runner.run((tx, handle) => {
        used.push(handle);
        return fn(tx, handle);
      });
      await faults?.("after-commit");
      for (const handle of used) {
        const completion = pending.get(handle);
        if (completion !== undefined) await store.complete(completion);
      }
      return value;
    },
  };
  const complete: Store["complete"] = async (request, transaction) => {
    if (transaction === undefined) return store.complete(request);
    pending.set(transaction, request);
    return "ok";
  };
  return { ...side, runner, store: { ...store, complete } };
}

function withoutFence(store: Store): Store {
  return {
    ...store,
    renew: async (requests) => requests.map(() => "ok"),
    startStep: async (request) => (await store.startStep(request), "ok"),
    finishStep: async (request) => (await store.finishStep(request), "ok"),
    complete: async (request, transaction) => {
      await store.complete(request, transaction);
      return "ok";
    },
  };
}
