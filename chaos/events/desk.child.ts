/**
 * The desk: a person who replays dead letters of relay and inbox, and settles what is held after a look at the bank. Before
 * the run it makes tables and queues, after it tells what there is. It is at work all the while and is not killed.
 */
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { settle } from "../../packages/ichido/src/core/engine/settlement.ts";
import { createInbox } from "../../packages/ichido/src/inbox/index.ts";
import { createOutbox } from "../../packages/ichido/src/outbox/index.ts";
import { openBroker } from "../../test/events/storm-brokers.ts";
import { findCharge } from "../bank.ts";
import { engineOf } from "../engine.ts";
import { standstillMsMax, travelMsMax } from "../settings.ts";
import { openSide, runnerOf } from "../sides/side.ts";
import type { EventsTold } from "./judgement.ts";
import { saw } from "./life.ts";
import { readEventsSetup } from "./setup.ts";
import { createTables, readEvents, readHandled } from "./tables.ts";
import { outboxOptions, retentionMs } from "./topics.ts";

const setup = readEventsSetup();
const side = await openSide(setup.store, setup.url);
const transactions = runnerOf(side);
const ichido = engineOf(side, {});
const outbox = createOutbox({ ...outboxOptions, transactions });
const inbox = createInbox({ transactions, retentionMs, ichido });
await side.prepare();
await outbox.migrate();
await inbox.migrate();
await createTables(transactions);
await (await openBroker(setup.broker, setup.brokerUrl)).prepare();

const actor = "desk";
/** Whoever stood still, or called the bank, when this person first looked has gone on by then. */
const patienceMs = standstillMsMax + travelMsMax(setup.slackMs);
const firstSeenMs = new Map<string, number>();
/** Every letter of the inbox there ever was: it is replayed out of order, as letters are. */
const letters = new Set<string>();

/** How long ago this person saw it first. */
function sinceMs(name: string): number {
  const first = firstSeenMs.get(name) ?? performance.now();
  firstSeenMs.set(name, first);
  return performance.now() - first;
}

async function settleHolds(): Promise<void> {
  const { records } = await side.store.list({ operation: "inbox.hold", state: "unknown", limit: 100 });
  for (const record of records) {
    const { key } = record.identity;
    if (sinceMs(`${key} ${record.fence}`) < patienceMs) continue;
    const found = await findCharge(setup.banks.deaf, key);
    const kind = found === undefined ? ("release" as const) : ("adopt" as const);
    const decision = kind === "adopt" ? { kind, answer: { status: 200, body: null } } : { kind };
    console.log(`settled ${kind} ${await settle(ichido, { record, decision, actor, reason: "looked at the bank" })}`);
  }
}

async function replayLetters(): Promise<void> {
  for (const { seq } of (await outbox.dead.list({ limit: 50 })).letters) {
    if ((await outbox.dead.replay({ seq, actor, reason: "the broker takes it now" })) === "ok") saw("outbox-replay");
  }
  for (const { handler, message, state, reason } of (await inbox.dead.list({ limit: 200 })).letters) {
    letters.add(`${handler} ${message.id}`);
    if (state === "replaying" || (reason === "unknown" && sinceMs(`letter ${message.id}`) < patienceMs)) continue;
    const done = await inbox.dead.replay({ handler, id: message.id, actor, reason: "it may pass now" });
    if (done === "ok") saw("inbox-replay");
  }
}

async function tell(file: string): Promise<void> {
  const [events, handled] = [await readEvents(transactions), await readHandled(transactions)];
  const [out, taken] = [await outbox.stats(), await inbox.stats()];
  const waiting = { pending: out.pending, outboxDead: out.dead, parked: taken.parked, inboxDead: taken.dead };
  writeFileSync(file, JSON.stringify({ events, handled, letters: [...letters], waiting } satisfies EventsTold));
  console.log(`tell ${file} done`);
}

/** The store may be away for a while, and is asked again. */
const over = (work: () => Promise<unknown>): Promise<unknown> =>
  work().catch((error: unknown) => console.log(`put off ${String(error)}`));

let working = true;
createInterface({ input: process.stdin }).on("line", (line) => {
  const [name, ...words] = line.split(" ");
  if (name === "tell") void over(() => tell(words[0] ?? ""));
  if (name === "store") side.order?.(words);
});
process.once("SIGTERM", () => (working = false));
process.on("uncaughtException", (error) => console.log(`trouble ${String(error)}`));
console.log("ready");

while (working) {
  await sleep(250);
  await over(settleHolds);
  await over(replayLetters);
  await over(() => Promise.all([outbox.sweep(), inbox.sweep()]));
}
process.exit(0);
