/** Tests that count leave their counts in the folder `ICHIDO_PROOF`, where there is one: for `npm run proof:report`. */
import { join } from "node:path";
import { originNow } from "../../scripts/proof/origin.ts";
import { keepRun } from "../../scripts/proof/run.ts";

const folder = process.env["ICHIDO_PROOF"];
/** Taken before the first test. */
const origin = folder === undefined ? undefined : originNow();

export function noteProof(name: string, run: Parameters<typeof keepRun>[1]): void {
  if (folder !== undefined && origin !== undefined) keepRun(join(folder, `${name}.json`), run, origin);
}
