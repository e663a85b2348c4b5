import { reapAfterDeath } from "../../../packages/ichido/src/testing/reaper.ts";

const [, , gone = "", kept = "", mark = ""] = process.argv;
reapAfterDeath({ folder: gone });
reapAfterDeath({ folder: kept }).forget();
reapAfterDeath({ run: ["touch", mark] });
console.log("ready");
setInterval(() => {}, 1_000);
