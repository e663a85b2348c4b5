/**
 * How long every screen of the console waits at a million records on PostgreSQL, by its own routes.
 * `npm run bench:console`; `-- --rows 1e5` for fewer. A private server that is started and ended.
 */
import { parseArgs } from "node:util";
import { createIchido } from "ichido";
import { console as ichidoConsole } from "ichido/console";
import { createInbox } from "ichido/inbox";
import { createOutbox } from "ichido/outbox";
import { pgTransactions } from "ichido/transactions";
import type { KeysAnswer } from "../../packages/ichido/src/console/contract.ts";
import { routes } from "../../packages/ichido/src/console/routes.ts";
import { surroundings } from "../http/surroundings.ts";
import { furnish, perCustomer, tableHead, timed } from "./furnished.ts";
import { keyOf } from "./keys.ts";

const { values } = parseArgs({ options: { rows: { type: "string", default: "1e6" } } });
const rows = Math.round(Number(values.rows));
const openOutcomes = 300;
const { date, machine, loadBefore } = surroundings("bench:console");
const { store, pool, version, place, close } = await furnish(rows);

const transactions = pgTransactions(pool);
const outbox = createOutbox({ transactions, source: "/bench", topics: {} });
const inbox = createInbox({ transactions, retentionMs: 86_400_000 });
const ichido = createIchido({
  store,
  dangerouslyShareKeys: true,
  onUnknown: "hold",
  probes: { "bank.charge": () => [] },
});
const authorize = () => ({ user: "bench", can: ["read"] as const });
const served = ichidoConsole(ichido, { authorize, outbox, inbox });

async function ask<Answer>(path: string): Promise<Answer> {
  const response = await served.fetch(new Request(`http://127.0.0.1/${path}`));
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

/** Records in doubt, as crashes leave them. */
async function leaveOpen(): Promise<void> {
  for (let count = 0; count < openOutcomes; count += 1) {
    const request = { operation: "payment.create", scope: { principal: "bench" }, key: `open-outcome-${count}` };
    await ichido.run(request, () => Promise.reject(new Error("no answer"))).catch(() => undefined);
  }
}

const customer = (turn: number): string => `cus_${Math.floor(place(turn) / perCustomer)}`;

/** Every route that is looked at, some of them in several ways. */
function looks(handles: readonly string[]): Readonly<Record<string, readonly ((turn: number) => string)[]>> {
  const handle = (turn: number): string => handles[turn % handles.length] ?? "";
  return {
    "api/session": [() => "api/session"],
    "api/ask": [
      (turn) => `api/ask?text=${keyOf("v4", place(turn))}`,
      (turn) => `api/ask?text=customer%3D${customer(turn)}`,
      (turn) => `api/ask?text=ch_${place(turn)}`,
      (turn) => `api/ask?text=none_${turn}`,
    ],
    "api/keys": [
      () => "api/keys",
      () => "api/keys?state=unknown",
      () => "api/keys?state=failed",
      (turn) => `api/keys?label=customer%3D${customer(turn)}`,
      () => "api/keys?newerThanMs=60000",
      () => "api/keys?operation=nothing.of.ours",
      () => "api/keys?principal=nobody",
    ],
    "api/keys/{handle}": [(turn) => `api/keys/${handle(turn)}`],
    "api/keys/{handle}/probes": [(turn) => `api/keys/${handle(turn)}/probes`],
    "api/unknown": [() => "api/unknown"],
    "api/outbox": [() => "api/outbox"],
    "api/outbox/dead": [() => "api/outbox/dead"],
    "api/inbox": [() => "api/inbox"],
    "api/inbox/dead": [() => "api/inbox/dead"],
    "api/storage": [() => "api/storage"],
    "api/traffic": [() => "api/traffic"],
    "api/doctor": [() => "api/doctor"],
    "api/audit": [() => "api/audit"],
  };
}

/** A stream, and letters, of which there are none. */
const left: readonly string[] = ["api/live", "api/outbox/dead/{letter}", "api/inbox/dead/{letter}"];

try {
  await Promise.all([outbox.migrate(), inbox.migrate()]);
  await leaveOpen();
  const { records } = await ask<KeysAnswer>("api/keys?limit=200");
  const asked = looks(records.map(({ handle }) => handle));
  console.log(
    `${date}; ${machine}; load average before ${loadBefore.toFixed(1)}; ${version}; ${rows} records, ${openOutcomes} in doubt`,
  );
  console.log(tableHead);
  let isKept = true;
  for (const { method, path } of routes) {
    if (method === "POST" || left.includes(path)) continue;
    for (const make of asked[path] ?? []) {
      // The count of Storage is asked for once a minute: the first turn has it.
      isKept = (await timed(make(0).slice(0, 60), (turn) => ask(make(turn)))) && isKept;
    }
    if (asked[path] === undefined) throw new Error(`${path} is not measured`);
  }
  isKept = (await timed("stats, once a minute", () => store.stats())) && isKept;
  if (!isKept) process.exitCode = 1;
} finally {
  served.close();
  await ichido.close();
  await close();
}
