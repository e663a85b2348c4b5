/** A letter that is written by whoever stood still until its lease was over: it is true, or it is taken back. */
import { createIchido } from "ichido";
import type { Inbox } from "ichido/inbox";
import { memoryStore } from "ichido/memory";
import { fakeClock, type FakeClock } from "ichido/testing";
import type { TransactionRunner } from "ichido/transactions";
import { beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { consuming } from "./consumer-bed.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { dayMs, inboxOn, message, migrated } from "./inbox-messages.ts";

const leaseMs = 1_000;
const broken = (): never => {
  throw new Error("broken");
};

/** Before the next transaction, once it is armed, its process stands still. */
function standing(runner: TransactionRunner<unknown>, meanwhile: () => Promise<unknown>) {
  let isArmed = false;
  return {
    arm: () => {
      isArmed = true;
    },
    runner: {
      ...runner,
      async run(fn, options) {
        if (isArmed) {
          isArmed = false;
          await meanwhile();
        }
        return runner.run(fn, options);
      },
    } satisfies TransactionRunner<unknown>,
  };
}

/** Time passes no faster than on the wall: the databases are real. */
async function passUntil(clock: FakeClock, isOver: () => boolean): Promise<void> {
  await eventually(async () => {
    await clock.advance(5);
    expect(isOver()).toBe(true);
  }, 20_000);
}

async function whileTimePasses(clock: FakeClock, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  work.then(end, end);
  await passUntil(clock, () => isOver);
  await work;
}

forEachDatabase("a letter of whoever stood still", (open) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = await migrated(open());
  });

  /** A consumer whose only attempt fails and that stands still before it writes the letter, and another process. */
  async function rig(handler: string, meanwhile: (other: Inbox) => Promise<unknown>, forMs = leaseMs * 2) {
    const clock = fakeClock({ wallMs: Date.now() });
    const { environment, nowMs } = clock;
    const store = memoryStore({ nowMs });
    let isCut = false;
    const link: typeof store = {
      ...store,
      claim: (request) => (isCut ? Promise.reject(new Error("cut off")) : store.claim(request)),
    };
    const engineOn = (on: typeof store) =>
      createIchido({
        store: on,
        dangerouslyShareKeys: true,
        onUnknown: "rerun",
        sweepMs: "off",
        leaseMs,
        environment,
        onEvent: () => {},
      });
    const other = inboxOn(open().side().runner, { ichido: engineOn(store), environment });
    const { runner, arm } = standing(open().side().runner, () => {
      clock.stall(forMs);
      return meanwhile(other);
    });
    const run = (): never => {
      arm();
      throw new Error("broken");
    };
    const own = inboxOn(runner, { ichido: engineOn(link), environment });
    const bed = await consuming(own, [{ name: handler, topics: ["*"], run }], { attemptsMax: 1 });
    const cutOff = (on: boolean): void => {
      isCut = on;
    };
    return { clock, bed, cutOff };
  }

  test("is taken back where another one processed the message meanwhile", async () => {
    const one = message();
    const letter = { handler: "processed", id: one.id };
    const { clock, bed } = await rig("processed", (other) => other.run(one, "processed", () => undefined));
    await whileTimePasses(clock, bed.deliver(one));
    expect(bed.types()).toEqual(["failed", "duplicate"]);
    expect(bed.answers.acked).toEqual([one.id]);
    expect(await inbox.dead.get(letter)).toBeUndefined();
    // Nor does it run again when the record of its lease is forgotten.
    const later = inboxOn(open().side().runner, {
      ichido: createIchido({ store: memoryStore(), dangerouslyShareKeys: true, onUnknown: "rerun", onEvent: () => {} }),
    });
    expect(await later.run(one, "processed", broken)).toEqual({ outcome: "duplicate" });
  });

  test("is taken back also where that cannot be asked at once", async () => {
    const one = message();
    const letter = { handler: "unasked", id: one.id };
    const { clock, bed, cutOff } = await rig("unasked", async (other) => {
      await other.run(one, "unasked", () => undefined);
      cutOff(true);
    });
    const delivered = bed.deliver(one);
    await passUntil(clock, () => bed.types().includes("unavailable"));
    expect(await inbox.dead.get(letter)).toMatchObject({ reason: "failed" });
    cutOff(false);
    await whileTimePasses(clock, delivered);
    expect(bed.types().at(-1)).toBe("duplicate");
    expect(await inbox.dead.get(letter)).toBeUndefined();
  });

  test("is taken away by whoever runs the message meanwhile and comes to its end", async () => {
    const one = message();
    const letter = { handler: "at-work", id: one.id };
    const inside = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let running: Promise<unknown> | undefined;
    const { clock, bed } = await rig("at-work", (other) => {
      running = other.run(one, "at-work", () => {
        inside.resolve();
        return gate.promise;
      });
      return inside.promise;
    });
    const delivered = bed.deliver(one);
    await passUntil(clock, () => bed.types().includes("busy"));
    expect(await inbox.dead.get(letter)).toMatchObject({ reason: "failed" });
    gate.resolve();
    expect(await running).toEqual({ outcome: "processed" });
    expect(await inbox.dead.get(letter)).toBeUndefined();
    await whileTimePasses(clock, delivered);
    expect(bed.types().filter((type) => type !== "busy")).toEqual(["failed", "duplicate"]);
    expect(await inbox.dead.get(letter)).toBeUndefined();
  });

  test("stays where nobody had the message meanwhile", async () => {
    const one = message();
    const { clock, bed } = await rig("nobody", () => Promise.resolve());
    await whileTimePasses(clock, bed.deliver(one));
    expect(bed.types()).toEqual(["failed", "dead"]);
    expect(await inbox.dead.get({ handler: "nobody", id: one.id })).toMatchObject({ state: "dead", attempts: 1 });
  });

  test("tells no more than that it is too old where the record may be forgotten", async () => {
    const one = message();
    const { clock, bed } = await rig("forgotten", () => Promise.resolve(), 15 * dayMs);
    await whileTimePasses(clock, bed.deliver(one));
    const letter = await inbox.dead.get({ handler: "forgotten", id: one.id });
    expect(letter).toMatchObject({ state: "dead", reason: "too-old", attempts: 1 });
  });
});
