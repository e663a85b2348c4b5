/**
 * The desk: a reconciler for what can be asked about, and a person who settles what cannot. Before the run it makes the
 * tables, after it tells what rows and records there are. It is at work all the while and is not killed.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { createReconciler } from "../packages/ichido/src/core/engine/reconciler.ts";
import { settle, type Settlement } from "../packages/ichido/src/core/engine/settlement.ts";
import type { StoredRecord } from "../packages/ichido/src/core/contract/store.ts";
import { findCharge } from "./bank.ts";
import { engineOf, note } from "./engine.ts";
import { operationOf } from "./policies.ts";
import { leaseMs, standstillMsMax, travelMsMax } from "./settings.ts";
import { readSetup } from "./setup.ts";
import { openSide } from "./sides/side.ts";
import { answerByCharge, answerOf, step } from "./work.ts";
import type { Told } from "./told.ts";

const setup = readSetup();
const { slackMs } = setup;
const { deaf } = setup.banks;
const side = await openSide(setup.store, setup.url);
await side.prepare();
const ichido = engineOf(side, setup);

const reconciler = createReconciler(ichido, {
  everyMs: 400,
  olderThanMs: leaseMs,
  verifyMs: 1_500,
  onEvent: note,
  operations: {
    [operationOf("verify")]: {
      async verify({ identity, reference, steps }) {
        const found = await findCharge(deaf, reference(step));
        if (found !== undefined) {
          return { verdict: "found", response: answerByCharge(identity.principal ?? "", found) };
        }
        const mayTravel = steps.some(({ state, ageMs }) => state === "started" && ageMs <= travelMsMax(slackMs));
        return { verdict: mayTravel ? "not-visible-yet" : "absent" };
      },
    },
  },
});

/** When this person first saw a doubt, by its identity and fence. Whoever stood still meanwhile has gone on by then. */
const firstSeenMs = new Map<string, number>();
const patienceMs = standstillMsMax + slackMs;

async function decisionOn(record: StoredRecord): Promise<Settlement["decision"] | undefined> {
  const { identity, fence, labels, holdReason } = record;
  const name = `${identity.principal} ${identity.key} ${fence}`;
  const sinceMs = performance.now() - (firstSeenMs.get(name) ?? performance.now());
  if (!firstSeenMs.has(name)) {
    firstSeenMs.set(name, performance.now());
    // Now and then nobody else is to touch it until it was looked into.
    if (holdReason === undefined && Math.random() < 0.3) return { kind: "hold" };
  }
  if (sinceMs < patienceMs) return undefined;
  const intent = labels["intent"] ?? "";
  const found = await findCharge(deaf, intent);
  if (found === undefined) return { kind: "release" };
  return { kind: "adopt", answer: answerOf({ intent, caller: identity.principal ?? "", effect: found.id }) };
}

async function lookAtHolds(): Promise<void> {
  const { records } = await side.store.list({ operation: operationOf("hold"), state: "unknown", limit: 100 });
  for (const record of records) {
    const decision = await decisionOn(record);
    if (decision === undefined) continue;
    const result = await settle(ichido, { record, decision, actor: "desk", reason: "looked at the bank's ledger" });
    console.log(`settled ${decision.kind} ${result}`);
  }
}

async function tell(file: string): Promise<true> {
  const records: Told["records"][number][] = [];
  let cursor: string | undefined;
  do {
    const page = await side.store.list({ limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    for (const { identity, state } of page.records) {
      records.push({ key: identity.key, caller: identity.principal ?? "", operation: identity.operation, state });
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  writeFileSync(file, JSON.stringify({ rows: await side.rows(), records } satisfies Told));
  console.log(`tell ${file} done`);
  return true;
}

async function forget(file: string): Promise<true> {
  await side.forget(JSON.parse(readFileSync(file, "utf8")) as readonly string[]);
  firstSeenMs.clear();
  console.log(`forget ${file} done`);
  return true;
}

/** The store may be away for a while, and is asked again. */
async function over<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    console.log(`put off ${String(error)}`);
    return undefined;
  }
}

const triesMax = 20;

/** What must not be put off: everybody waits for it. */
async function insistOn(work: () => Promise<true>): Promise<void> {
  for (let tries = 1; tries <= triesMax && (await over(work)) === undefined; tries += 1) await sleep(500);
}

let working = true;
createInterface({ input: process.stdin }).on("line", (line) => {
  const [name, ...words] = line.split(" ");
  if (name === "tell") void insistOn(() => tell(words[0] ?? ""));
  if (name === "forget") void insistOn(() => forget(words[0] ?? ""));
  if (name === "store") side.order?.(words);
});
process.once("SIGTERM", () => (working = false));
process.on("uncaughtException", (error) => console.log(`trouble ${String(error)}`));
console.log("ready");

while (working) {
  await sleep(300);
  await over(lookAtHolds);
  const report = await over(() => reconciler.tick());
  if (report === undefined) continue;
  for (let count = report.adopted + report.released; count > 0; count -= 1) console.log("reconciled");
}
process.exit(0);
