/**
 * Order per key where a reading begins far above the oldest event, on every database. The clock creeps, so that no reading
 * begins at zero before it is told to.
 */
import { systemEnvironment, type Environment } from "ichido";
import { createRelay } from "ichido/outbox";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import { forEachDatabase, type Database } from "./inbox-databases.ts";
import { idsOf, openOutbox, rejected, wire, type Wire } from "./outbox-bed.ts";

/** More numbers than a reading goes back. */
const farMin = 1_200;
/** So many that the relay knows the key for one of which it sends much. */
const often = 6;

/** A second by this clock is more than a minute. */
const slowness = 100;
const sentWithinMs = 20_000;

interface Bed {
  readonly outbox: Awaited<ReturnType<typeof openOutbox>>;
  readonly publisher: Wire;
  /** Adds events of a key; resolves when they are committed. */
  add(key: string, ...ids: readonly string[]): Promise<void>;
  /** Sends so many others that later readings begin behind all that was added before. */
  goFar(): Promise<void>;
  /** Resolves when an event of another key that was added just now was sent: a reading took place. */
  reading(): Promise<void>;
  /** From now on a reading may begin at zero. */
  passTime(): void;
  sentOf(key: string): string[];
}

async function begin(
  database: Database,
  topic: string,
  answer: Wire["answer"] = () => ({ outcome: "sent" }),
): Promise<Bed> {
  let passedMs = 0;
  const environment: Environment = {
    ...systemEnvironment,
    monotonicMs: () => systemEnvironment.monotonicMs() / slowness + passedMs,
  };
  const outbox = await openOutbox(database, { environment });
  const publisher = wire(answer);
  const relay = createRelay(outbox, {
    routes: { wire: publisher, other: wire() },
    backoffMs: 1,
    backoffMsMax: 1,
    idleMs: 1,
    idleMsMax: 1,
  });
  onTestFinished(() => relay.stop());
  await relay.start();
  let count = 0;
  const isSent = (id: string) =>
    eventually(() => expect(publisher.sent.some((each) => each.id === id)).toBe(true), sentWithinMs);
  const addAll = (topicOf: string, key: string | undefined, ids: readonly string[]): Promise<void> =>
    outbox.transaction(async (_tx, handle) => {
      for (const id of ids)
        await outbox.add(handle, { topic: topicOf, id, payload: 1, ...(key === undefined ? {} : { key }) });
    });
  async function others(many: number): Promise<void> {
    const ids = Array.from({ length: many }, () => `other-${(count += 1)}`);
    await addAll("mail.sent", undefined, ids);
    await isSent(ids.at(-1) ?? "");
  }
  return {
    outbox,
    publisher,
    add: (key, ...ids) => addAll(topic, key, ids),
    async goFar() {
      for (let done = 0; done < farMin; done += 400) await others(400);
    },
    reading: () => others(1),
    passTime() {
      passedMs += 5_000;
    },
    sentOf: (key) => idsOf(publisher.sent.filter((message) => message.key === key)),
  };
}

const numbered = (name: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${name}${at}`);

forEachDatabase("a reading that begins above the oldest event", (open) => {
  it("sends on, in order, a key of which much was sent", async () => {
    const bed = await begin(open(), "order.paid");
    await bed.goFar();
    const ids = numbered("a", 3 * often);
    for (const id of ids) {
      await bed.add("a", id);
      await bed.reading();
    }
    await eventually(() => expect(bed.sentOf("a")).toEqual(ids));
  });

  it("leaves a key alone of which something waits behind, until that was sent", async () => {
    const isHeld = new Set(["a-first"]);
    const bed = await begin(open(), "order.paid", ({ id }) =>
      isHeld.has(id) ? { outcome: "later", error: new Error("not yet"), delayMs: 1 } : { outcome: "sent" },
    );
    await bed.add("a", "a-first");
    await eventually(() => expect(bed.publisher.calls.some(({ id }) => id === "a-first")).toBe(true));
    await bed.goFar();
    await bed.add("a", "a-second");
    await bed.reading();
    await bed.reading();
    expect(bed.sentOf("a")).toEqual([]);
    isHeld.clear();
    bed.passTime();
    await bed.reading();
    await eventually(() => expect(bed.sentOf("a")).toEqual(["a-first", "a-second"]));
  });

  for (const { topic, title } of [
    { topic: "order.paid", title: "a key that a dead letter stops" },
    { topic: "skip.paid", title: "a key that passes its dead letters by" },
  ]) {
    it(`sends a replayed letter before what waits behind it, of ${title}`, async () => {
      let isCured = false;
      const bed = await begin(open(), topic, ({ id }) =>
        id === "a-dead" && !isCured ? rejected() : { outcome: "sent" },
      );
      const before = numbered("a-before-", often);
      for (const id of before) await bed.add("a", id);
      await bed.add("a", "a-dead");
      const [letter] = await eventually(async () => {
        bed.passTime();
        await bed.reading();
        const { letters } = await bed.outbox.dead.list();
        expect(letters).toHaveLength(1);
        return letters;
      });
      // Where letters are passed by, these leave; else they wait.
      const between = numbered("a-between-", often);
      for (const id of between) await bed.add("a", id);
      await bed.goFar();
      const later = numbered("a-later-", often);
      for (const id of later) await bed.add("a", id);
      await bed.reading();
      const isPassedBy = topic === "skip.paid";
      const sent = isPassedBy ? [...before, ...between, ...later] : before;
      await eventually(() => expect(bed.sentOf("a")).toEqual(sent));
      isCured = true;
      await bed.outbox.dead.replay({ seq: letter?.seq ?? 0, actor: "ada", reason: "mended" });
      await bed.add("a", "a-last");
      await bed.reading();
      await bed.reading();
      expect(bed.sentOf("a"), "all of it stands behind the letter").toEqual(sent);
      bed.passTime();
      await bed.reading();
      const rest = isPassedBy ? ["a-dead", "a-last"] : ["a-dead", ...between, ...later, "a-last"];
      await eventually(() => expect(bed.sentOf("a")).toEqual([...sent, ...rest]));
    });
  }
});
