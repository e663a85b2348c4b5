/** Tests that count leave their counts in the folder `ICHIDO_PROOF`, where there is one: for `npm run proof:report`. */
import { join } from "node:path";
import type { Origin } from "../../scripts/proof/origin.ts";
import { beginRun, type ProofRun } from "../../scripts/proof/run.ts";

export function noteProof(name: string, run: Omit<ProofRun, keyof Origin>): void {
  const folder = process.env["ICHIDO_PROOF"];
  beginRun(folder === undefined ? undefined : join(folder, `${name}.json`))(run);
}
