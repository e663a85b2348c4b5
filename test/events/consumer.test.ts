/** A consumer answers a delivery once every handler has an outcome, on the three databases. */
import { setTimeout as delay } from "node:timers/promises";
import { createConsumer, type Inbox } from "ichido/inbox";
import { systemEnvironment } from "../../packages/ichido/src/core/contract/environment.ts";
import { createFaultProxy, spawnChild } from "ichido/testing";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { addEffect } from "../effects/sides.ts";
import { eventually } from "../support/eventually.ts";
import { inOneFile } from "../support/in-one-file.ts";
import { uniqueName } from "../support/services.ts";
import { consuming, writes } from "./consumer-bed.ts";
import { testBroker } from "./inbox-broker.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { dayMs, inboxOn, leasedInboxOn, message, migrated } from "./inbox-messages.ts";

forEachDatabase("a consumer", (open) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = await migrated(open());
  });
  const effectsOf = async (id: string): Promise<readonly string[]> =>
    (await open().effects()).filter((name) => name.endsWith(` ${id}`)).map((name) => name.slice(0, -id.length - 1));

  test("every handler of the topic gets the message, then it is acknowledged; a redelivery changes nothing", async () => {
    const bed = await consuming(inbox, [
      writes("exact", ["order.paid"]),
      writes("below", ["order.*"]),
      writes("all"),
      writes("other", ["stock.*", "order.paid.late"]),
    ]);
    const one = message();
    await bed.deliver(one);
    await bed.deliver(one, 2);
    expect(await effectsOf(one.id)).toEqual(["exact", "below", "all"]);
    expect(bed.answers.acked).toEqual([one.id, one.id]);
    expect(bed.types()).toEqual([...Array(3).fill("processed"), ...Array(3).fill("duplicate")]);
    expect(bed.consumer.health()).toEqual({
      state: "running",
      inFlight: 0,
      paused: false,
      unavailable: false,
      unhandled: [],
    });
  });

  test("a handler that fails is tried again in place, with the attempt's number", async () => {
    const seen: number[] = [];
    const bed = await consuming(inbox, [
      {
        name: "flaky",
        topics: ["*"],
        once: async (_tx, { handle, attempt, message: { id } }) => {
          seen.push(attempt);
          await addEffect(handle, `flaky ${id}`);
          if (attempt < 3) throw new Error("not yet");
        },
      },
    ]);
    const one = message();
    await bed.deliver(one);
    expect(seen).toEqual([1, 2, 3]);
    expect(await effectsOf(one.id)).toEqual(["flaky"]);
    expect(bed.answers.acked).toEqual([one.id]);
  });

  test("a poison message is a dead letter of its handler alone, is acknowledged, and its redelivery is a duplicate", async () => {
    let runs = 0;
    const poison = uniqueName("poison");
    const bed = await consuming(
      inbox,
      [
        {
          name: "poisoned",
          topics: ["*"],
          once: () => {
            runs += 1;
            throw new Error("cannot read the amount", { cause: new Error("NaN") });
          },
        },
        writes("healthy"),
      ],
      { attemptsMax: 4 },
    );
    const one = message({ id: poison, key: "order-7", headers: { "x-shop": "東京" }, traceparent: "00-a-b-01" });
    await bed.deliver(one);
    expect(runs).toBe(4);
    expect(await effectsOf(one.id)).toEqual(["healthy"]);
    expect(bed.answers).toMatchObject({ acked: [one.id], retried: [] });
    await bed.deliver(one, 2);
    expect(runs).toBe(4);
    const letter = await inbox.dead.get({ handler: "poisoned", id: poison });
    expect(letter).toMatchObject({ handler: "poisoned", reason: "failed", attempts: 4, state: "dead", message: one });
    expect(letter?.error).toMatch(/cannot read the amount[^]*caused by Error: NaN/);
    expect(await inbox.dead.get({ handler: "healthy", id: poison })).toBeUndefined();
    expect(await inbox.stats()).toMatchObject({ dead: 1, replaying: 0 });
  });

  test("a conflict is a dead letter, beside what was processed", async () => {
    const bed = await consuming(inbox, [writes("strict")]);
    const one = message();
    await bed.deliver(one);
    await bed.deliver(message({ id: one.id, payload: "other" }));
    await bed.deliver(message({ id: one.id, payload: "other" }), 2);
    expect(await effectsOf(one.id)).toEqual(["strict"]);
    expect(bed.answers.acked).toHaveLength(3);
    expect((await inbox.dead.list({ handler: "strict" })).letters).toMatchObject([{ reason: "conflict" }]);
  });

  test("a dead letter is replayed by decision, once, audited; then its redelivery is a duplicate", async () => {
    let broken = true;
    const bed = await consuming(
      inbox,
      [
        {
          name: "mended",
          topics: ["*"],
          once: async (_tx, { handle, message: { id } }) => {
            if (broken) throw new Error("broken");
            await addEffect(handle, `mended ${id}`);
          },
        },
      ],
      { attemptsMax: 1, replayMs: 600_000 },
    );
    const one = message();
    await bed.deliver(one);
    const decision = { handler: "mended", id: one.id, actor: "ann", reason: "fixed in 1.2" };
    // Still broken: it comes back as a dead letter, with one attempt more.
    expect(await inbox.dead.replay(decision)).toBe("ok");
    await eventually(async () => {
      expect(await inbox.dead.get(decision)).toMatchObject({ state: "dead", attempts: 2 });
    });
    broken = false;
    expect(await Promise.all([inbox.dead.replay(decision), inbox.dead.replay(decision)])).toContain("ok");
    await eventually(async () => expect(await inbox.dead.get(decision)).toBeUndefined());
    expect(await inbox.dead.replay(decision)).toBe("absent");
    await bed.deliver(one, 2);
    expect(await effectsOf(one.id)).toEqual(["mended"]);
    const audit = await inbox.dead.audit(decision);
    expect(audit.length).toBeGreaterThanOrEqual(2);
    expect(audit[0]).toMatchObject({ action: "replay", actor: "ann", reason: "fixed in 1.2", topic: "order.paid" });
  });

  test("a replay that no consumer runs yet waits, marked; a second decision marks nothing", async () => {
    const bed = await consuming(
      inbox,
      [{ name: "waits", topics: ["*"], once: () => Promise.reject(new Error("no")) }],
      { attemptsMax: 1 },
    );
    const one = message();
    await bed.deliver(one);
    await bed.consumer.stop();
    const decision = { handler: "waits", id: one.id, actor: "ann", reason: "again" };
    expect(await inbox.dead.replay(decision)).toBe("ok");
    expect(await inbox.dead.replay(decision)).toBe("already");
    expect(await inbox.dead.audit(decision)).toHaveLength(1);
    expect(await inbox.dead.get(decision)).toMatchObject({ state: "replaying" });
    const next = await consuming(inbox, [writes("waits")], { replayMs: 600_000 });
    expect(await next.consumer.replay()).toBe(1);
    expect(await effectsOf(one.id)).toEqual(["waits"]);
    expect(await inbox.dead.get(decision)).toBeUndefined();
  });

  test("a dead letter is let go by decision, audited; its redelivery stays a duplicate", async () => {
    const bed = await consuming(inbox, [{ name: "gone", topics: ["*"], once: () => Promise.reject(new Error("no")) }], {
      attemptsMax: 1,
      replayMs: 600_000,
    });
    const one = message();
    await bed.deliver(one);
    const decision = { handler: "gone", id: one.id, actor: "bob", reason: "a test order" };
    expect(await inbox.dead.discard(decision)).toBe("ok");
    expect(await inbox.dead.discard(decision)).toBe("absent");
    expect(await inbox.dead.audit(decision)).toMatchObject([{ action: "discard", actor: "bob" }]);
    bed.events.length = 0;
    await bed.deliver(one, 2);
    expect(bed.types()).toEqual(["duplicate"]);
    await expect(inbox.dead.discard({ ...decision, actor: "" })).rejects.toThrow(/actor: expected/);
  });

  test("of two people at once, one who replays and one who discards, the discard stands: its redelivery is a duplicate", async () => {
    const bed = await consuming(inbox, [{ name: "both", topics: ["*"], once: () => Promise.reject(new Error("no")) }], {
      attemptsMax: 1,
      replayMs: 600_000,
    });
    const one = message();
    await bed.deliver(one);
    await bed.consumer.stop();
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const { runner } = open().side();
    const slow: typeof runner = {
      ...runner,
      run: (fn, options) =>
        runner.run(
          (tx, handle) =>
            fn(tx, {
              ...handle,
              async execute(sql, values, more) {
                if (/delete from \S*inbox_dead/i.test(sql)) {
                  reached.resolve();
                  // SQLite has one writer: there the other one comes before this transaction or after it.
                  if (open().dialect !== "sqlite") await gate.promise;
                }
                return handle.execute(sql, values, more);
              },
            }),
          options,
        ),
    };
    const decision = { handler: "both", id: one.id, reason: "decided" };
    const discarded = inboxOn(slow).dead.discard({ ...decision, actor: "bob" });
    await reached.promise;
    await inbox.dead.replay({ ...decision, actor: "ann" });
    gate.resolve();
    expect(await discarded).toBe("ok");
    expect(await inbox.runOnce(one, "both", () => expect.unreachable())).toEqual({ outcome: "duplicate" });
  });

  test("a letter that was to run again and is discarded before its turn does not run: its redelivery is a duplicate", async () => {
    const bed = await consuming(inbox, [{ name: "late", topics: ["*"], once: () => Promise.reject(new Error("no")) }], {
      attemptsMax: 1,
      replayMs: 600_000,
    });
    const one = message();
    await bed.deliver(one);
    await bed.consumer.stop();
    const decision = { handler: "late", id: one.id, reason: "decided" };
    expect(await inbox.dead.replay({ ...decision, actor: "ann" })).toBe("ok");
    expect(await inbox.dead.discard({ ...decision, actor: "bob" })).toBe("ok");
    expect(await inbox.runOnce(one, "late", () => expect.unreachable())).toEqual({ outcome: "duplicate" });
  });

  test("dead letters are listed in pages, by handler and by topic", async () => {
    const bed = await consuming(
      inbox,
      [{ name: "listed", topics: ["*"], once: () => Promise.reject(new Error("no")) }],
      { attemptsMax: 1 },
    );
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      const one = message({ topic: index % 2 === 0 ? "order.paid" : "order.sent" });
      ids.push(one.id);
      await bed.deliver(one);
    }
    const seen: string[] = [];
    let cursor: number | undefined;
    do {
      const page = await inbox.dead.list({ handler: "listed", limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.letters.map((letter) => letter.message.id));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(ids);
    const sent = await inbox.dead.list({ handler: "listed", topic: "order.sent" });
    expect(sent.letters.map((letter) => letter.message.id)).toEqual([ids[1], ids[3]]);
    await expect(inbox.dead.list({ limit: 0 })).rejects.toThrow(/limit: expected/);
  });

  test("what is no event is kept with its bytes, acknowledged, and cannot be replayed", async () => {
    const bed = await consuming(inbox, [writes("reads")]);
    const raw = new Uint8Array([0, 255, 1, ...Buffer.from(uniqueName("raw"))]);
    await bed.deliverUnreadable(raw);
    await bed.deliverUnreadable(raw);
    expect(bed.answers.acked).toEqual(["unreadable", "unreadable"]);
    const { letters } = await inbox.dead.list({ handler: "(unreadable)" });
    const [letter] = letters.filter(({ message: { payload } }) => Buffer.from(payload).equals(raw));
    expect(letter).toMatchObject({ reason: "unreadable", error: expect.stringContaining("no event") as string });
    expect(letters).toHaveLength(1);
    const decision = { handler: "(unreadable)", id: letter?.message.id ?? "", actor: "ann", reason: "why not" };
    expect(await inbox.dead.replay(decision)).toBe("unreadable");
    expect(await inbox.dead.discard(decision)).toBe("ok");
  });

  test("the broker is told that work goes on while a handler runs", async () => {
    const bed = await consuming(inbox, [{ name: "slow", topics: ["*"], once: () => delay(250) }], { ackWaitMs: 60 });
    await bed.deliver(message());
    expect(bed.answers.working).toBeGreaterThanOrEqual(3);
    const after = bed.answers.working;
    await delay(80);
    expect(bed.answers.working).toBe(after);
  });

  test("stop lets a running handler finish, and hands back what waits for its next attempt", async () => {
    let entered = (): void => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const bed = await consuming(
      inbox,
      [
        {
          name: "stops",
          topics: ["order.paid"],
          once: async (_tx, { handle, message: { id } }) => {
            entered();
            await delay(100);
            await addEffect(handle, `stops ${id}`);
          },
        },
        { name: "fails", topics: ["order.failing"], once: () => Promise.reject(new Error("no")) },
      ],
      { backoffMs: 60_000, backoffMsMax: 60_000 },
    );
    const [running, waiting] = [message(), message({ topic: "order.failing" })];
    const both = [bed.deliver(running)];
    await inside;
    both.push(bed.deliver(waiting));
    await eventually(async () => expect(bed.types()).toContain("failed"));
    await bed.consumer.stop();
    await Promise.all(both);
    expect(bed.answers).toMatchObject({ acked: [running.id], retried: [{ id: waiting.id, delayMs: 0 }] });
    expect(await effectsOf(running.id)).toEqual(["stops"]);
    expect(await inbox.dead.get({ handler: "fails", id: waiting.id })).toBeUndefined();
    expect(bed.consumer.health().state).toBe("stopped");
  });

  test("a message that another process has is waited for, then handed back", async () => {
    const one = message();
    const bed = await consuming(inboxOn(open().impatient(50), { lockTimeoutMs: 50 }), [writes("shared")], {
      inPlaceMs: 100,
    });
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let entered = (): void => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const first = inbox.runOnce(one, "shared", async () => {
      entered();
      await held;
    });
    await inside;
    await bed.deliver(one);
    expect(bed.answers).toMatchObject({ acked: [], retried: [{ id: one.id }] });
    expect(bed.types()).toContain("busy");
    release();
    await first;
    await bed.deliver(one, 2);
    expect(bed.answers.acked).toEqual([one.id]);
  });

  test("a database that is away costs no attempts: the message waits and is processed when it is back", async (context) => {
    if (open().dialect === "sqlite") return context.skip("there is no connection to lose");
    const proxy = await createFaultProxy({ target: open().url });
    onTestFinished(() => proxy.close());
    const away = inboxOn(open().side(proxy.url).runner);
    const bed = await consuming(away, [writes("patient")], { attemptsMax: 1 });
    const one = message();
    proxy.admit("reset");
    proxy.reset();
    const delivered = bed.deliver(one);
    await eventually(async () => {
      expect(bed.types().filter((type) => type === "unavailable").length).toBeGreaterThan(5);
    });
    expect(bed.consumer.health().unavailable).toBe(true);
    proxy.heal();
    await delivered;
    expect(bed.types()).not.toContain("failed");
    expect(bed.answers).toMatchObject({ acked: [one.id], retried: [] });
    expect(await effectsOf(one.id)).toEqual(["patient"]);
  });

  test("W8 a process that dies between the row and the commit leaves nothing: the redelivery is processed", async () => {
    const one = message();
    const child = await spawnChild(await inOneFile(new URL("consumer.child.ts", import.meta.url)), {
      args: [open().dialect, open().url, "die-inside", JSON.stringify({ ...one, payload: { order: 7 } })],
    });
    await child.exited;
    expect(child.lines).toContain("written");
    expect(child.exit?.signal).toBe("SIGKILL");
    expect(await effectsOf(one.id)).toEqual([]);
    const bed = await consuming(inbox, [writes("die-inside")]);
    await bed.deliver(one, 2);
    expect(bed.types()).toContain("processed");
    expect(await effectsOf(one.id)).toEqual(["die-inside"]);
  });

  test("W14 a message that kills its process is put aside after as many deaths as allowed, without running again", async () => {
    const one = message();
    const text = JSON.stringify({ ...one, payload: { order: 7 } });
    const deaths: (string | null | undefined)[] = [];
    for (let deliveries = 1; deliveries <= 4; deliveries += 1) {
      const child = await spawnChild(await inOneFile(new URL("consumer.child.ts", import.meta.url)), {
        args: [open().dialect, open().url, "killer", text, String(deliveries)],
      });
      await child.exited;
      deaths.push(child.exit?.signal);
      if (child.exit?.signal === null) expect(child.lines).toContain("acked");
    }
    // The first delivery is not noted, so that it costs nothing; then crashesMax is 1.
    expect(deaths).toEqual(["SIGKILL", "SIGKILL", null, null]);
    expect(await inbox.dead.get({ handler: "killer", id: one.id })).toMatchObject({
      reason: "crashed",
      error: expect.stringContaining("started once without an end") as string,
      message: one,
    });
  });

  describe("handlers that call other services", () => {
    beforeAll(async () => {
      await (open().side().store as unknown as { migrate(): Promise<unknown> }).migrate();
    });

    const leasedInbox = (onUnknown: "rerun" | "hold"): Inbox => leasedInboxOn(open().side(), onUnknown);

    test("run under a lease, with the same reference on every attempt; a dead one stays dead", async () => {
      const references: string[] = [];
      const bed = await consuming(
        leasedInbox("rerun"),
        [
          {
            name: "calls",
            topics: ["*"],
            run: async (context) => {
              references.push(context.reference("charge"));
              if (references.length < 3) throw new Error("not yet");
            },
          },
          { name: "never", topics: ["*"], run: () => Promise.reject(new Error("never")) },
        ],
        { attemptsMax: 3 },
      );
      const one = message();
      await bed.deliver(one);
      await bed.deliver(one, 2);
      expect(references).toHaveLength(3);
      expect(new Set(references).size).toBe(1);
      expect(bed.answers.acked).toHaveLength(2);
      expect(await inbox.dead.get({ handler: "never", id: one.id })).toMatchObject({ reason: "failed", attempts: 3 });
      expect(bed.types().filter((type) => type === "duplicate")).toHaveLength(2);
    });

    test("whose outcome stays unknown are put aside for a person, so that others go on", async () => {
      let lateMs = 0;
      const environment = { ...systemEnvironment, monotonicMs: () => systemEnvironment.monotonicMs() + lateMs };
      const bed = await consuming(
        leasedInboxOn(open().side(), "hold", { environment }),
        [
          {
            name: "doubts",
            topics: ["*"],
            run: (context) =>
              context.step("charge", () => {
                throw new Error("the bank's answer was lost");
              }),
          },
        ],
        {
          inPlaceMs: 60_000,
          // Its time is up between two looks.
          onEvent: ({ type }) => {
            if (type === "busy") lateMs += 50_000;
          },
        },
      );
      const one = message();
      await bed.deliver(one);
      expect(bed.answers.acked).toEqual([one.id]);
      expect(await inbox.dead.get({ handler: "doubts", id: one.id })).toMatchObject({ reason: "unknown" });
    });
  });

  test("an inbox that forgets sooner than the broker delivers again is refused at start", async () => {
    const short = inboxOn(open().side().runner, { retentionMs: dayMs });
    const { subscription } = testBroker({ redeliveryMsMax: dayMs });
    const consumer = createConsumer({ subscription, inbox: short, handlers: [writes("late")] });
    await expect(consumer.start()).rejects.toMatchObject({ code: "option-invalid" });
  });
});

test.each([
  [{ handlers: [] }, /handlers: expected at least one/],
  [{ handlers: [writes("twice"), writes("twice")] }, /twice is there twice/],
  [{ handlers: [writes("bad", ["order.*.paid"])] }, /handlers\[0\]\.topics: expected/],
  [{ handlers: [{ name: "none", topics: ["*"] } as never] }, /expected a function as once or as run/],
  [{ handlers: [{ name: "leased", topics: ["*"], run: () => {} }] }, /pass `ichido` to createInbox/],
  [{ attemptsMax: 0 }, /attemptsMax: expected/],
  [{ unhandled: "drop" as never }, /unhandled: expected/],
])("the options %j are refused", (options, text) => {
  const inbox = inboxOn({ dialect: "sqlite", run: () => Promise.reject(new Error("not asked")) });
  const { subscription } = testBroker();
  expect(() => createConsumer({ subscription, inbox, handlers: [writes("one")], ...options })).toThrow(text);
});
