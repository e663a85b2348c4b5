/** `npm run shop:incidents`: seeds the incident set, asks `ichido why --json` about every ticket, prints the table; fails below the bar. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBed } from "./bed.ts";
import { measure, tableOf } from "./measure.ts";
import { customersFor, seed } from "./seed.ts";

const PRECISION_MIN = 0.95;
const set = { ordinary: 500, repeats: 30, each: 5 };
const folder = mkdtempSync(join(tmpdir(), "ichido-incidents-"));
const bed = await openBed(folder, customersFor(set));
try {
  const measured = await measure(bed, await seed(bed, set));
  console.log(tableOf(measured));
  for (const line of measured.wrong) console.log(`wrong: ${line}`);
  if (measured.recall < 1 || measured.precision < PRECISION_MIN) process.exitCode = 1;
} finally {
  await bed.close();
  rmSync(folder, { recursive: true, force: true });
}
