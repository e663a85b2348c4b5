/**
 * `npm run playground:faults -- --runs 10`: every fault of the deck, as often as asked, in both lanes of one playground, and
 * what the bank's ledger shows for each. Ends with 1 where a count is not what the page says.
 */
import { parseArgs } from "node:util";
import { spawnChild } from "ichido/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lanes, type StateView } from "../src/playground/contract.ts";
import { call, driveFault } from "./drive.ts";

const { values } = parseArgs({ options: { runs: { type: "string", default: "10" } } });
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1 || runs > 1_000) {
  console.error(`--runs: expected a whole number from 1 to 1000, got ${values.runs}`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "ichido-playground-"));
const shop = await spawnChild(new URL("../src/main.ts", import.meta.url), {
  env: { PORT: "0", SHOP_DATA: folder },
  readyPattern: /^shop ready /,
  readyMs: 120_000,
});
let wrong = 0;
try {
  const [, base = ""] = await shop.waitFor(/^shop ready (.+)$/);
  const { deck } = await call<StateView>(base, "start", {});
  console.log(`${"fault".padEnd(26)} runs  unprotected    protected      (charges in the bank's ledger)`);
  for (const { fault, expected, unavailable } of deck) {
    if (unavailable !== undefined) {
      console.log(`${fault.padEnd(26)} not run: ${unavailable}`);
      continue;
    }
    const seen = { unprotected: 0, protected: 0 };
    for (let run = 0; run < runs; run += 1) {
      const { view } = await driveFault(base, fault);
      for (const lane of lanes) seen[lane] += view.lanes[lane].bankCharges.length === expected[lane] ? 1 : 0;
    }
    wrong += lanes.reduce((sum, lane) => sum + runs - seen[lane], 0);
    const told = lanes.map((lane) => `${expected[lane]} in ${seen[lane]}/${runs}`.padEnd(14)).join(" ");
    console.log(`${fault.padEnd(26)} ${String(runs).padStart(4)}  ${told}`);
  }
} finally {
  await shop.stop();
  rmSync(folder, { recursive: true, force: true });
}
console.log(wrong === 0 ? "as the page says" : `${wrong} counts are not as the page says`);
process.exitCode = wrong === 0 ? 0 : 1;
