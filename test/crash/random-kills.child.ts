/** Works on several operations at a time until it is killed, and says what it begins and what it was answered. */
import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import type { TransactionHandle } from "ichido";
import { faultsFromEnv } from "../../packages/ichido/src/testing/faults.ts";
import { caller } from "../effects/callers.ts";
import { openLoneSide } from "../effects/lone-side.ts";
import { handlerOf, leaseMs, spoilt } from "./matrix-shop.ts";
import type { Defect, Scenario } from "./matrix-shop.ts";
import { randomFrom } from "./random-from.ts";
import type { Operation } from "./random-kills.ts";

const operationsMax = 1_000;
const triesMax = 200;

const [, , dialect, url = "", providerUrl = "", prefix = "", ...rest] = process.argv;
const [seed = "", defect = "none", amountBase = "", lanes = ""] = rest;
const random = randomFrom(Number(seed));
const faults = faultsFromEnv();
const side = spoilt(
  await openLoneSide(dialect as TransactionHandle["dialect"] | "redis", url, { shareCommits: Math.random() < 0.5 }),
  defect as Defect,
  faults,
);
const shop = caller(side, { leaseMs, ...(faults === undefined ? {} : { faults }) });
let begun = 0;

function scenarioOf(chance: number): Scenario {
  if (chance < 0.5) return "pays";
  if (chance < 0.7 || side.store.capabilities.transactionMode !== true) return "fails";
  return "orders";
}

async function work(): Promise<void> {
  while (begun < operationsMax) {
    begun += 1;
    const scenario = scenarioOf(random());
    const operation: Operation = { key: `${prefix}-${begun}`, scenario, amount: Number(amountBase) + begun };
    const { key, amount } = operation;
    console.log(`asked ${JSON.stringify(operation)}`);
    const handler = handlerOf(scenario, key, providerUrl, amount, dialect !== "redis");
    const mode = scenario === "orders" ? "transaction" : "lease";
    for (let tries = 0; tries < triesMax; tries += 1) {
      const answer = await shop.ask(key, handler, { mode }, { amount });
      if (answer.status === 201) {
        console.log(`answered ${JSON.stringify({ key, text: answer.text })}`);
        break;
      }
      await sleep(20);
    }
  }
}

// It will be killed, and would leave nothing in the compile cache.
flushCompileCache();
console.log("ready");
await Promise.all(Array.from({ length: Number(lanes) }, work));
await shop.ichido.close();
await side.close();
