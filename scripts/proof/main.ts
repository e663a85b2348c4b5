/** `npm run proof:report`: writes docs/reference/proof.md from the data in docs/reference/proof. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pageOf } from "./page.ts";
import { readAll } from "./readings.ts";

const docs = join(import.meta.dirname, "../../docs/reference");
const readings = readAll(join(docs, "proof"));
writeFileSync(join(docs, "proof.md"), pageOf(readings));
console.log(`${readings.length} runs, docs/reference/proof.md`);
