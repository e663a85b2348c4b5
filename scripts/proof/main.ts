/** `npm run proof:report`: writes docs/reference/proof.md from the data in docs/reference/proof and the seeds played. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pageOf } from "./page.ts";
import { readAll } from "./readings.ts";
import { readSeeds, sourceByGit, sourceByPage } from "./seeds-page.ts";

const docs = join(import.meta.dirname, "../../docs/reference");
const file = join(docs, "proof.md");
const former = sourceByPage(readFileSync(file, "utf8"));
const seeds = readSeeds(
  readFileSync(join(docs, "simulation.md"), "utf8"),
  (commit) => sourceByGit(commit) ?? former(commit),
);
const readings = [...readAll(join(docs, "proof")), ...seeds];
writeFileSync(file, pageOf(readings));
console.log(`${readings.length} runs, docs/reference/proof.md`);
