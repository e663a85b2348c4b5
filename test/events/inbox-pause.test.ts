/** A person pauses an inbox: no consumer begins anything, on any database and any broker, until it is resumed. */
import { createConsumer, type ConsumerHandler, type Inbox } from "ichido/inbox";
import { expect, onTestFinished, test } from "vitest";
import { openSide } from "../effects/sides.ts";
import { drivers } from "../stores/redis-clients.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase } from "../support/services.ts";
import { eventOf, type BrokerRig } from "./broker-rig.ts";
import { consuming, writes } from "./consumer-bed.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { inboxOn, message, migrated } from "./inbox-messages.ts";
import { openNatsRig } from "./nats-rig.ts";
import { openRabbitmqRig } from "./rabbitmq-rig.ts";
import { openRedisRig } from "./redis-streams-rig.ts";

const who = { actor: "ann", reason: "the ledger is being repaired" };
const soon = { replayMs: 20 };
const withinMs = 30_000;

/** Longer than a consumer needs to notice anything. */
const aWhile = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300));

forEachDatabase("a paused inbox", (open) => {
  test("runs nothing that is delivered, parked or to be replayed, uses up no attempt, and goes on where it was", async () => {
    const inbox = await migrated(open());
    const seen: string[] = [];
    let isSick = true;
    const handler: ConsumerHandler<unknown> = {
      name: "books",
      topics: ["*"],
      once: async (_tx, { message: { id }, attempt }) => {
        seen.push(`${id} ${attempt}`);
        if (isSick) throw new Error("not yet");
      },
    };
    const bed = await consuming(inbox, [handler], { ...soon, parkAfterMs: 1, backoffMs: 50, backoffMsMax: 50 });
    const [sick, next] = [message({ key: "a" }), message({ key: "b" })];
    await bed.deliver(sick);
    await eventually(async () => expect((await inbox.stats()).parked).toBe(1), withinMs);

    expect(await inbox.pause(who)).toBe("ok");
    expect(await inbox.pause(who)).toBe("already");
    expect(await inbox.paused()).toMatchObject(who);
    await eventually(() => expect(bed.consumer.health().paused).toBe(true), withinMs);
    // What was begun before it noticed ends.
    await aWhile();
    const before = seen.length;
    const delivered = bed.deliver(next);
    await aWhile();
    expect(seen.length).toBe(before);
    expect(bed.answers.acked).toEqual([sick.id]);
    const fresh = await consuming(inbox, [handler], soon);
    expect(fresh.consumer.health().paused, "also one that starts meanwhile").toBe(true);

    isSick = false;
    expect(await inbox.resume(who)).toBe("ok");
    expect(await inbox.resume(who)).toBe("already");
    await delivered;
    await eventually(async () => expect((await inbox.stats()).parked).toBe(0), withinMs);
    expect(bed.answers).toMatchObject({ acked: [sick.id, next.id], retried: [] });
    expect(seen).toContain(`${next.id} 1`);
    expect(seen).toContain(`${sick.id} ${before + 1}`);
  });

  test("is heard while letters are being replayed, by them and by what is delivered meanwhile", async () => {
    const inbox = await migrated(open());
    let begun = 0;
    let isSick = true;
    const handler: ConsumerHandler<unknown> = {
      name: "books",
      topics: ["*"],
      once: async () => {
        if (isSick) throw new Error("not yet");
        begun += 1;
        await aWhile();
      },
    };
    const bed = await consuming(inbox, [handler], { ...soon, attemptsMax: 1 });
    const letters = Array.from({ length: 8 }, () => message());
    for (const letter of letters) await bed.deliver(letter);
    isSick = false;
    for (const { id } of letters) await inbox.dead.replay({ handler: "books", id, ...who });
    await eventually(() => expect(begun).toBeGreaterThan(0), withinMs);
    await inbox.pause(who);
    await eventually(() => expect(bed.consumer.health().paused).toBe(true), withinMs);
    const before = begun;
    expect(before).toBeLessThan(letters.length);
    const live = bed.deliver(message());
    await aWhile();
    await aWhile();
    expect(begun).toBe(before);
    await inbox.resume(who);
    await live;
    // One that is to run again is a letter until it has run, and would meet the next test's handler.
    await eventually(async () => expect((await inbox.dead.list()).letters).toEqual([]), withinMs);
  });

  test("uses up no attempt of a message that is being tried again", async () => {
    const inbox = await migrated(open());
    let runs = 0;
    const handler: ConsumerHandler<unknown> = {
      name: "books",
      topics: ["*"],
      once: async () => {
        runs += 1;
        throw new Error("not yet");
      },
    };
    const tries = { attemptsMax: 100, backoffMs: 60, backoffMsMax: 60, parkAfterMs: 600_000 };
    const bed = await consuming(inbox, [handler], { ...soon, ...tries });
    const delivered = bed.deliver(message({ key: "a" }));
    await eventually(() => expect(runs).toBeGreaterThan(0), withinMs);
    await inbox.pause(who);
    await eventually(() => expect(bed.consumer.health().paused).toBe(true), withinMs);
    await aWhile();
    const before = runs;
    await aWhile();
    expect(runs).toBe(before);
    expect((await inbox.dead.list()).letters).toEqual([]);
    await bed.consumer.stop();
    await delivered;
  });

  test("hands back what it had in hand for too long, and what it has when it stops", async () => {
    const inbox = await migrated(open());
    await inbox.pause(who);
    const bed = await consuming(inbox, [writes("books")], { ...soon, inPlaceMs: 50 });
    const one = message();
    await bed.deliver(one);
    expect(bed.answers).toMatchObject({ acked: [], retried: [{ id: one.id, delayMs: 1_000 }] });
    await inbox.resume(who);
  });
});

function onBroker(open: (url: string) => Promise<BrokerRig>) {
  return (server: string, url: string): void => {
    test("what was sent meanwhile waits at the broker and takes effect once after the pause", async () => {
      const database = await freshDatabase(server);
      const side = openSide("postgres", database.url);
      const rig = await open(url);
      onTestFinished(async () => {
        await rig.dispose();
        await side.close();
        await database.drop();
      });
      const inbox: Inbox = inboxOn(side.runner);
      await inbox.migrate();
      const ran: string[] = [];
      const once = async (_tx: unknown, { message: { id } }: { message: { id: string } }) => void ran.push(id);
      const consumer = createConsumer({
        subscription: await rig.subscription({ order: "key" }),
        inbox,
        handlers: [{ name: "books", topics: ["*"], once }],
        inPlaceMs: 200,
        ...soon,
      });
      await inbox.pause(who);
      await consumer.start();
      const publisher = await rig.publisher();
      const events = [eventOf({ key: "a" }), eventOf({ key: "a" }), eventOf({ key: "b" })];
      for (const event of events) expect(await publisher.publish(event)).toMatchObject({ outcome: "sent" });
      await aWhile();
      expect(ran).toEqual([]);
      await inbox.resume(who);
      await eventually(() => expect(ran.toSorted()).toEqual(events.map(({ id }) => id).toSorted()), withinMs);
      await aWhile();
      expect(ran).toHaveLength(events.length);
      await consumer.stop();
      await publisher.close();
    }, 60_000);
  };
}

const [redisDriver] = drivers;
describeWith(["postgres", "nats"], "a paused inbox behind NATS", onBroker(openNatsRig));
describeWith(["postgres", "rabbitmq"], "a paused inbox behind RabbitMQ", onBroker(openRabbitmqRig));
describeWith(
  ["postgres", "redis"],
  "a paused inbox behind Redis Streams",
  onBroker((url) => openRedisRig(redisDriver, url)),
);
