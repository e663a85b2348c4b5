/** Only deaths count as deaths: not copies that found a message at work, not outages. On the three databases. */
import { createIchido, type Ichido } from "ichido";
import type { ConsumerHandler, EventMessage, Inbox } from "ichido/inbox";
import { createFaultProxy } from "ichido/testing";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { partsOf } from "../../packages/ichido/src/inbox/inbox.ts";
import { addEffect } from "../effects/sides.ts";
import { eventually } from "../support/eventually.ts";
import { consuming } from "./consumer-bed.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { inboxOn, leasedInboxOn, message, migrated } from "./inbox-messages.ts";

/** A handler that waits inside until it is let go. */
function gated(name: string): {
  handler: ConsumerHandler<unknown>;
  entered: Promise<void>;
  letGo(): void;
  runs(): number;
} {
  const inside = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let runs = 0;
  const run = async (): Promise<void> => {
    runs += 1;
    inside.resolve();
    await gate.promise;
  };
  return { handler: { name, topics: ["*"], run }, entered: inside.promise, letGo: gate.resolve, runs: () => runs };
}

forEachDatabase("starts of messages", (open) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = await migrated(open());
    await (open().side().store as unknown as { migrate(): Promise<unknown> }).migrate();
  });

  /** As another process would have it. */
  const leasedInbox = (): Inbox => leasedInboxOn(open().side(), "rerun");

  /** What a process leaves behind that dies after it noted its start. */
  async function diedAt(one: EventMessage, handler: string): Promise<void> {
    await partsOf(inboxOn(open().side().runner) as Inbox<never>).starts.begin(one, handler);
    // Starts of one millisecond have no order but by chance.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  test("copies that find a message at work are no deaths, however many wait for it", async () => {
    const work = gated("at-work");
    const beds = await Promise.all(
      [1, 2, 3, 4].map(() => consuming(leasedInbox(), [work.handler], { crashesMax: 1, inPlaceMs: 60_000 })),
    );
    const one = message();
    const [first, ...others] = beds;
    if (first === undefined) expect.unreachable();
    const all = [first.deliver(one)];
    await work.entered;
    all.push(...others.map((bed, index) => bed.deliver(one, index + 2)));
    for (const bed of others) {
      await eventually(() => expect(bed.types().filter((type) => type === "busy").length).toBeGreaterThan(3), 20_000);
    }
    work.letGo();
    await Promise.all(all);
    expect(beds.map((bed) => bed.types().filter((type) => type !== "busy"))).toEqual([
      ["processed"],
      ["duplicate"],
      ["duplicate"],
      ["duplicate"],
    ]);
    expect(work.runs()).toBe(1);
    expect(await inbox.dead.get({ handler: "at-work", id: one.id })).toBeUndefined();
  });

  test("a message is not called crashed while somebody runs it: what is processed leaves no dead letter", async () => {
    const work = gated("alive");
    const first = await consuming(leasedInbox(), [work.handler]);
    const other = await consuming(leasedInbox(), [work.handler], { crashesMax: 2, inPlaceMs: 60_000 });
    const one = message();
    await diedAt(one, "alive");
    await diedAt(one, "alive");
    const running = first.deliver(one);
    await work.entered;
    const copy = other.deliver(one, 4);
    await eventually(() => expect(other.types()).toContain("busy"), 20_000);
    work.letGo();
    await Promise.all([running, copy]);
    expect(other.types().filter((type) => type !== "busy")).toEqual(["duplicate"]);
    expect(other.answers.acked).toEqual([one.id]);
    expect(await inbox.dead.get({ handler: "alive", id: one.id })).toBeUndefined();
  });

  test("a letter that is put while nobody runs its message is seen by whoever claims it afterwards", async () => {
    const work = gated("buried");
    const bed = await consuming(leasedInbox(), [work.handler], { crashesMax: 2 });
    const one = message();
    await diedAt(one, "buried");
    await diedAt(one, "buried");
    await bed.deliver(one, 3);
    expect(await inbox.dead.get({ handler: "buried", id: one.id })).toMatchObject({ state: "dead", reason: "crashed" });
    const late = leasedInbox();
    expect(await late.run(one, "buried", () => expect.unreachable())).toEqual({ outcome: "duplicate", dead: true });
    expect(work.runs()).toBe(0);
    // Nor is its key taken by that: replayed, it runs.
    expect(await inbox.dead.replay({ handler: "buried", id: one.id, actor: "ann", reason: "mended" })).toBe("ok");
    work.letGo();
    expect(await bed.consumer.replay()).toBe(1);
    expect(work.runs()).toBe(1);
    expect(await inbox.dead.get({ handler: "buried", id: one.id })).toBeUndefined();
  });

  /** Another consumer puts its letter, which takes all starts along, and a person has it run. */
  async function putAndReplayed(one: EventMessage, handler: string): Promise<void> {
    const other = inboxOn(open().side().runner);
    const news = { reason: "crashed", error: "died", attempts: 0 } as const;
    expect(await partsOf(other as Inbox<never>).letters.put(one, handler, news)).toBe("dead");
    expect(await other.dead.replay({ handler, id: one.id, actor: "ann", reason: "mended" })).toBe("ok");
  }

  const startsOf = ({ id }: EventMessage): string => `select token from ichido_inbox_starts where id = '${id}'`;

  test("a copy whose start went with a letter while it waited for those who end late begins anew", async () => {
    const one = message();
    const seen: number[] = [];
    const counting: ConsumerHandler<unknown> = {
      name: "waited",
      topics: ["*"],
      once: async (_tx, { handle }) => void seen.push((await handle.execute(startsOf(one), [])).rows.length),
    };
    const bed = await consuming(inboxOn(open().side().runner), [counting], { crashesMax: 1, replayMs: 600_000 });
    await diedAt(one, "waited");
    const delivered = bed.deliver(one, 2);
    await eventually(async () => expect(await open().query(startsOf(one))).toHaveLength(2), 20_000);
    await putAndReplayed(one, "waited");
    await delivered;
    expect(seen).toEqual([1]);
  });

  test("a copy whose start went with a letter before it had its lease begins anew: it never runs without a start", async () => {
    const one = message();
    const seen: number[] = [];
    const run = async (): Promise<void> => void seen.push((await open().query(startsOf(one))).length);
    const { runner, store } = open().side();
    const options = { dangerouslyShareKeys: true, onUnknown: "rerun", sweepMs: "off", onEvent: () => {} } as const;
    const engine = createIchido({ store, ...options });
    let claims = 0;
    const ichido: Pick<Ichido, "run"> = {
      async run(...args) {
        claims += 1;
        if (claims === 1) await putAndReplayed(one, "stood-still");
        return engine.run(...args);
      },
    };
    const handlers = [{ name: "stood-still", topics: ["*"], run }];
    const bed = await consuming(inboxOn(runner, { ichido }), handlers, { replayMs: 600_000 });
    await bed.deliver(one, 2);
    expect(seen).toEqual([1]);
    expect(bed.types()).toEqual(["busy", "processed"]);
  });

  test("an outage between start and end is no death, however often it comes", async (context) => {
    if (open().dialect === "sqlite") return context.skip("there is no connection to lose");
    const proxy = await createFaultProxy({ target: open().url });
    onTestFinished(() => proxy.close());
    let outages = 4;
    const cutOff: ConsumerHandler<unknown> = {
      name: "cut-off",
      topics: ["*"],
      once: async (_tx, { handle, message: { id } }) => {
        if (outages > 0) {
          outages -= 1;
          proxy.admit("reset");
          proxy.reset();
        }
        await addEffect(handle, `cut-off ${id}`);
      },
    };
    const bed = await consuming(inboxOn(open().side(proxy.url).runner), [cutOff], { crashesMax: 3, inPlaceMs: 1 });
    const one = message();
    for (let deliveries = 2; bed.answers.acked.length === 0 && deliveries < 20; deliveries += 1) {
      await bed.deliver(one, deliveries);
      proxy.heal();
    }
    expect(bed.types()).not.toContain("dead");
    expect(bed.answers.acked).toEqual([one.id]);
    expect(outages).toBe(0);
    expect((await open().effects()).filter((name) => name === `cut-off ${one.id}`)).toHaveLength(1);
  });
});
