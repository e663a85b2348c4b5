/**
 * How long a person on call waits at a million records on PostgreSQL: `why`, `keys list` by label, `stats`.
 * `npm run bench:ask`; `-- --rows 1e5` for fewer. A private server that is started and ended.
 */
import { parseArgs } from "node:util";
import { why } from "ichido/operations";
import { surroundings } from "../http/surroundings.ts";
import { furnish, perCustomer, tableHead, timed } from "./furnished.ts";
import { keyOf } from "./keys.ts";

const { values } = parseArgs({ options: { rows: { type: "string", default: "1e6" } } });
const rows = Math.round(Number(values.rows));
const { date, machine, loadBefore } = surroundings("bench:ask");
const { store, version, place, close } = await furnish(rows);
const ichido = { store };

try {
  console.log(`${date}; ${machine}; load average before ${loadBefore.toFixed(1)}; ${version}; ${rows} records`);
  console.log(tableHead);
  const kept = [
    await timed("why by key", (turn) => why({ ichido }, { text: keyOf("v4", place(turn)) })),
    await timed("why by customer", (turn) => why({ ichido }, { text: `cus_${Math.floor(place(turn) / perCustomer)}` })),
    await timed("why by charge", (turn) => why({ ichido }, { text: `ch_${place(turn)}` })),
    await timed("why of what is not there", (turn) => why({ ichido }, { text: `none_${turn}` })),
    await timed("keys list by label", (turn) =>
      store.list({ label: { name: "customer", value: `cus_${Math.floor(place(turn) / perCustomer)}` }, limit: 100 }),
    ),
    await timed("keys list --state unknown", () => store.list({ state: "unknown", limit: 100 })),
    await timed("stats", () => store.stats()),
  ];
  if (kept.includes(false)) process.exitCode = 1;
} finally {
  await close();
}
