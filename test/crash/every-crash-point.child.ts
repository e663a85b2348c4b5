/** Pays once and ends; dies where ICHIDO_FAULTS says. */
import { flushCompileCache } from "node:module";
import { createIchido } from "ichido";
import { openSqliteStore } from "ichido/sqlite";
import { faultsFromEnv } from "../../packages/ichido/src/testing/faults.ts";
import { pay } from "./payment.ts";

const [, , file = "", providerUrl = ""] = process.argv;
const store = await openSqliteStore(file, { migrate: true });
const faults = faultsFromEnv();
const ichido = createIchido({
  store,
  dangerouslyShareKeys: true,
  onUnknown: "rerun",
  leaseMs: 300,
  sweepMs: "off",
  onEvent: () => {},
  ...(faults === undefined ? {} : { faults }),
});
// It will be killed, and would leave nothing in the compile cache.
flushCompileCache();
try {
  console.log(`paid ${JSON.stringify(await pay(ichido, providerUrl))}`);
} catch (error) {
  console.log(`refused ${String(error)}`);
}
await ichido.close();
await store.close();
