/** One attempt in a process of its own: killed where ICHIDO_FAULTS says, or frozen where MATRIX_PAUSE says. */
import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import type { TransactionHandle } from "ichido";
import type { FaultName } from "ichido/testing";
import { crashAt, faultsFromEnv } from "../../packages/ichido/src/testing/faults.ts";
import { caller } from "../effects/callers.ts";
import { openLoneSide } from "../effects/lone-side.ts";
import { handlerOf, leaseMs, spoilt } from "./matrix-shop.ts";
import type { Defect, Scenario } from "./matrix-shop.ts";

const [, , dialect, url = "", providerUrl = "", scenario, defect, key = "", amount = ""] = process.argv;
const pause = process.env["MATRIX_PAUSE"] as FaultName | undefined;
let paused = false;
const faults =
  pause === undefined
    ? faultsFromEnv()
    : crashAt(pause, () => {
        paused = true;
        console.log("paused");
        process.kill(process.pid, "SIGSTOP");
      });
const side = spoilt(
  await openLoneSide(dialect as TransactionHandle["dialect"] | "redis", url),
  defect as Defect,
  faults,
);
const shop = caller(side, { leaseMs, ...(faults === undefined ? {} : { faults }) });
const mode = scenario === "orders" ? "transaction" : "lease";
const handler = handlerOf(
  scenario as Scenario,
  key,
  providerUrl,
  Number(amount),
  dialect !== "redis",
  defect as Defect,
);
// It will be killed, and would leave nothing in the compile cache.
flushCompileCache();
const ask = () => shop.ask(key, handler, { mode }, { amount: Number(amount) });
let answer = await ask();
// On a busy machine a claim may take longer than its lease, and is then refused before anything ran.
const triesMax = 50;
for (let tries = 1; !paused && answer.code === "idempotency-in-flight" && tries < triesMax; tries += 1) {
  await sleep(100);
  answer = await ask();
}
console.log(`answered ${JSON.stringify(answer)}`);
await shop.ichido.close();
await side.close();
