/** Pays once and ends; dies where ICHIDO_FAULTS says. */
import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { createIchido } from "ichido";
import type { TransactionHandle } from "ichido";
import { faultsFromEnv } from "ichido/testing";
import { openLoneSide } from "../effects/lone-side.ts";
import { optionsOfProcesses, pay } from "./payment.ts";

const [, , dialect, url = "", providerUrl = "", key = ""] = process.argv;
const side = await openLoneSide(dialect as TransactionHandle["dialect"] | "redis", url);
const faults = faultsFromEnv();
const ichido = createIchido({
  ...optionsOfProcesses,
  store: side.store,
  ...(faults === undefined ? {} : { faults }),
});
// It will be killed, and would leave nothing in the compile cache.
flushCompileCache();
// On a busy machine a claim may take longer than its lease, and is then refused before anything ran.
const triesMax = 100;
for (let tries = 1; ; tries += 1) {
  try {
    console.log(`paid ${JSON.stringify(await pay(ichido, providerUrl, key))}`);
    break;
  } catch (error) {
    if (tries === triesMax) throw error;
    await sleep(50);
  }
}
await ichido.close();
await side.close();
