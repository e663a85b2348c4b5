/** A failing message parks its own key, in order, and holds up nobody else, on the three databases. */
import type { ConsumerHandler, Inbox } from "ichido/inbox";
import { beforeAll, expect, test } from "vitest";
import { addEffect } from "../effects/sides.ts";
import { eventually } from "../support/eventually.ts";
import { uniqueName } from "../support/services.ts";
import { consuming, writes } from "./consumer-bed.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { inboxOn, leasedInboxOn, message, migrated } from "./inbox-messages.ts";

/** Fails while told so; then writes. */
function failing(name: string, isBroken: (id: string) => boolean): ConsumerHandler<unknown> {
  return {
    name,
    topics: ["*"],
    once: async (_tx, { handle, message: { id } }) => {
      if (isBroken(id)) throw new Error("not yet");
      await addEffect(handle, `${name} ${id}`);
    },
  };
}

const soon = { parkAfterMs: 1, backoffMs: 20, backoffMsMax: 50, replayMs: 50 };

forEachDatabase("a key that fails", (open) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = await migrated(open());
  });
  const effectsOf = async (name: string): Promise<readonly string[]> =>
    (await open().effects()).filter((each) => each.startsWith(`${name} `)).map((each) => each.slice(name.length + 1));

  test("is parked with what comes after it, in order; other keys go on meanwhile", async () => {
    let broken = true;
    const first = message({ key: "a" });
    const name = uniqueName("parks");
    const bed = await consuming(inbox, [failing(name, (id) => broken && id === first.id)], {
      ...soon,
      attemptsMax: 1_000_000,
    });
    const [second, third, other] = [message({ key: "a" }), message({ key: "a" }), message({ key: "b" })];
    for (const each of [first, second, third, other]) await bed.deliver(each);
    expect(bed.answers).toMatchObject({ acked: [first.id, second.id, third.id, other.id], retried: [] });
    expect(await effectsOf(name)).toEqual([other.id]);
    expect(bed.events.filter(({ type }) => type === "parked")).toMatchObject([
      { id: first.id, attempts: expect.any(Number) as number },
      { id: second.id, attempts: 0 },
      { id: third.id, attempts: 0 },
    ]);
    expect(await inbox.stats()).toMatchObject({ parked: 3, dead: 0 });
    expect((await inbox.stats()).oldestParkedMs).toBeGreaterThanOrEqual(0);
    const tried = { handler: name, outcome: "parked", attempts: expect.any(Number) as number };
    expect(await inbox.find(first.id)).toMatchObject([tried]);
    expect(await inbox.find(second.id)).toMatchObject([{ ...tried, attempts: 0 }]);
    expect(await inbox.find(other.id)).toMatchObject([{ handler: name, outcome: "processed" }]);
    // Delivered again while it waits: still once, in its place.
    await bed.deliver(first, 2);
    broken = false;
    await eventually(async () => expect(await effectsOf(name)).toEqual([other.id, first.id, second.id, third.id]));
    await eventually(async () => expect(await inbox.stats()).toMatchObject({ parked: 0 }));
    expect(await inbox.find(first.id)).toMatchObject([{ handler: name, outcome: "processed" }]);
    const last = message({ key: "a" });
    await bed.deliver(last);
    await bed.deliver(first, 2);
    expect(await effectsOf(name)).toEqual([other.id, first.id, second.id, third.id, last.id]);
  });

  for (const { title, parkAfterMs } of [
    { title: "is tried again in place", parkAfterMs: 600_000 },
    { title: "is parked", parkAfterMs: 1 },
  ]) {
    test(`in the middle of many of its key ${title}, with its attempts counted and the order kept`, async () => {
      const name = uniqueName("middle");
      const run = Array.from({ length: 5 }, () => message({ key: "a" }));
      const [, , sick] = run;
      const seen: number[] = [];
      const bed = await consuming(
        inbox,
        [
          {
            name,
            topics: ["*"],
            once: async (_tx, { handle, attempt, message: { id } }) => {
              await addEffect(handle, `${name} ${id}`);
              if (id !== sick?.id) return;
              seen.push(attempt);
              if (attempt < 3) throw new Error("not yet");
            },
          },
        ],
        { ...soon, parkAfterMs },
      );
      for (const each of run) await bed.deliver(each);
      await eventually(async () => expect(await effectsOf(name)).toEqual(run.map(({ id }) => id)));
      expect(seen).toEqual([1, 2, 3]);
      expect(bed.answers).toMatchObject({ acked: run.map(({ id }) => id), retried: [] });
      expect(bed.types().filter((type) => type === "parked")).toHaveLength(parkAfterMs === 1 ? 3 : 0);
      await eventually(async () => expect(await inbox.stats()).toMatchObject({ parked: 0 }));
      await bed.consumer.stop();
    });
  }

  test("counts its attempts on in the park, ends as a dead letter, and what stood behind it goes", async () => {
    const poison = message({ key: "a" });
    const seen: number[] = [];
    const name = uniqueName("poisons");
    const bed = await consuming(
      inbox,
      [
        {
          name,
          topics: ["*"],
          once: async (_tx, { handle, attempt, message: { id } }) => {
            if (id === poison.id) {
              seen.push(attempt);
              throw new Error("poison");
            }
            await addEffect(handle, `${name} ${id}`);
          },
        },
      ],
      { ...soon, attemptsMax: 4 },
    );
    const next = message({ key: "a" });
    await bed.deliver(poison);
    await bed.deliver(next);
    await eventually(async () => expect(await effectsOf(name)).toEqual([next.id]));
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(await inbox.dead.get({ handler: name, id: poison.id })).toMatchObject({ reason: "failed", attempts: 4 });
    await eventually(async () => expect(await inbox.stats()).toMatchObject({ parked: 0 }));
  });

  test("is taken up by another process, which counts on", async () => {
    const name = uniqueName("moves");
    const one = message({ key: "a" });
    const bed = await consuming(inbox, [failing(name, () => true)], {
      ...soon,
      attemptsMax: 1_000_000,
      replayMs: 600_000,
    });
    await bed.deliver(one);
    await bed.consumer.stop();
    expect(bed.types()).toContain("parked");
    const next = await consuming(inboxOn(open().side().runner), [writes(name)], soon);
    await eventually(() => expect(next.types()).toContain("processed"));
    expect(await effectsOf(name)).toEqual([one.id]);
  });

  test("parks one handler's line alone", async () => {
    const [sick, well] = [uniqueName("sick"), uniqueName("well")];
    const bed = await consuming(inbox, [failing(sick, () => true), writes(well)], { ...soon, attemptsMax: 1_000_000 });
    const [one, two] = [message({ key: "a" }), message({ key: "a" })];
    await bed.deliver(one);
    await bed.deliver(two);
    expect(await effectsOf(well)).toEqual([one.id, two.id]);
    await bed.consumer.stop();
  });

  test("without a key parks its message alone", async () => {
    const name = uniqueName("keyless");
    const one = message();
    const bed = await consuming(inbox, [failing(name, (id) => id === one.id)], { ...soon, attemptsMax: 1_000_000 });
    const two = message();
    await bed.deliver(one);
    await bed.deliver(two);
    expect(await effectsOf(name)).toEqual([two.id]);
    await bed.consumer.stop();
  });

  test("a sweep spares what tells that a parked message has run", async () => {
    const name = uniqueName("swept");
    const one = message({ key: "a", time: "" });
    const short = inboxOn(open().side().runner, { retentionMs: 1 });
    const bed = await consuming(inbox, [failing(name, () => true)], {
      ...soon,
      attemptsMax: 1_000_000,
      replayMs: 600_000,
    });
    await bed.deliver(one);
    await bed.consumer.stop();
    // It ran, and whoever ran it died before it could be taken out of the line.
    await short.runOnce(one, name, () => {});
    await open().script("update ichido_inbox set processed_ms = processed_ms - 60000");
    await short.sweep();
    expect(await short.runOnce(one, name, () => expect.unreachable())).toEqual({ outcome: "duplicate" });
    const again = await consuming(inbox, [writes(name)], soon);
    await eventually(async () => expect(again.types()).toContain("duplicate"));
    expect(await effectsOf(name)).toEqual([]);
  });

  test("under a lease keeps its references and its order", async () => {
    await (open().side().store as unknown as { migrate(): Promise<unknown> }).migrate();
    const name = uniqueName("leased");
    const ran: string[] = [];
    const references = new Set<string>();
    let broken = true;
    const first = message({ key: "a" });
    const bed = await consuming(
      leasedInboxOn(open().side(), "rerun"),
      [
        {
          name,
          topics: ["*"],
          run: async (context, { message: { id } }) => {
            if (id === first.id) references.add(context.reference("charge"));
            if (broken) throw new Error("not yet");
            ran.push(id);
          },
        },
      ],
      { ...soon, attemptsMax: 1_000_000 },
    );
    const second = message({ key: "a" });
    await bed.deliver(first);
    await bed.deliver(second);
    broken = false;
    await eventually(async () => expect(ran).toEqual([first.id, second.id]));
    expect(references.size).toBe(1);
  });
});
