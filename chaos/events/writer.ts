/** Writes a business row and the event that tells of it, in one transaction; some of these it takes back. */
import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { TransactionHandle } from "../../packages/ichido/src/core/contract/transaction.ts";
import { createOutbox, type Outbox } from "../../packages/ichido/src/outbox/index.ts";
import { runnerOf, type Side } from "../sides/side.ts";
import { call, live, saw, weather } from "./life.ts";
import { addEvent, lockSubject, subjects, type EventRow } from "./tables.ts";
import { outboxOptions } from "./topics.ts";

class TakenBack extends Error {}

const topicsBy: Readonly<Record<string, number>> = {
  "order.placed": 2,
  "order.paid": 3,
  "order.held": 2,
  "strict.noted": 1,
  "mail.due": 1,
};
/** As often as each is told of. */
const topics = Object.entries(topicsBy).flatMap(([topic, often]) => Array.from({ length: often }, () => topic));
const numberMax = 2 ** 47;
const pauseMsMax = 40;
const insideMsMax = 80;
/** Transactions of one process at once. */
const besides = 4;

const pick = <Value>(all: readonly Value[]): Value => all[randomInt(all.length)] as Value;

export const newEvent = (topic: string, subject: string): EventRow => ({
  id: `ev-${randomUUID()}`,
  topic,
  subject,
  number: randomInt(1, numberMax),
});

export async function tellOf(outbox: Outbox, handle: TransactionHandle, event: EventRow): Promise<void> {
  const { id, topic, subject: key, number } = event;
  await outbox.add(handle, { id, topic, payload: { number }, ...(topic === "mail.due" ? {} : { key }) });
}

export async function startWriter(side: Side): Promise<void> {
  const transactions = runnerOf(side);
  const outbox = createOutbox({ ...outboxOptions, transactions });
  /** Keeps the order of a key by itself, without a lock of the writer's own. */
  const strict = createOutbox({ ...outboxOptions, transactions, strict: true });
  const isShared = transactions.dialect !== "sqlite";

  async function write(): Promise<void> {
    const event = newEvent(pick(topics), pick(subjects));
    await outbox.transaction(async (_tx, handle) => {
      const isStrict = event.topic === "strict.noted";
      if (isStrict) await tellOf(strict, handle, event);
      else if (event.topic !== "mail.due") await lockSubject(handle, event.subject);
      await addEvent(handle, event);
      if (!isStrict) await tellOf(outbox, handle, event);
      // On SQLite whoever dawdles inside a transaction stops all others.
      if (isShared && randomInt(8) === 0) await sleep(randomInt(insideMsMax));
      if (randomInt(8) === 0) throw new TakenBack();
    });
  }

  async function repeat(): Promise<void> {
    while (!weather.isResting) {
      await call(write).catch((error: unknown) => saw(error instanceof TakenBack ? "taken-back" : "write-failed"));
      await sleep(randomInt(pauseMsMax));
    }
  }
  const writing = Promise.all(Array.from({ length: besides }, repeat));
  live(side, () => writing);
}
