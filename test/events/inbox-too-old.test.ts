/** What the inbox may have forgotten is never run by itself: the sweep, old events and replayed letters. */
import { createIchido } from "ichido";
import type { ConsumerHandler, EventMessage, Inbox } from "ichido/inbox";
import { inProcess } from "ichido/in-process";
import { memoryStore } from "ichido/memory";
import { createOutbox, createRelay } from "ichido/outbox";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { systemEnvironment, type Environment } from "../../packages/ichido/src/core/contract/environment.ts";
import { partsOf } from "../../packages/ichido/src/inbox/inbox.ts";
import { eventually } from "../support/eventually.ts";
import { consuming, writes } from "./consumer-bed.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { dayMs, inboxOn, leasedInboxOn, message } from "./inbox-messages.ts";

const retentionMs = 500;
const short = { redeliveryMsMax: 1, replayMs: 600_000, attemptsMax: 1 };
const fails = (name: string): ConsumerHandler<unknown> => ({
  name,
  topics: ["*"],
  once: () => Promise.reject(new Error("no")),
});
const old = (): EventMessage => message({ time: new Date(Date.now() - 20 * dayMs).toISOString() });

forEachDatabase("an inbox that forgets", (open) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = inboxOn(open().side().runner, { retentionMs });
    await inbox.migrate();
    await (open().side().store as unknown as { migrate(): Promise<unknown> }).migrate();
  });
  const effectsOf = async (id: string): Promise<readonly string[]> =>
    (await open().effects()).filter((name) => name.endsWith(` ${id}`));

  /** Sweeps until what was processed before this call is gone. */
  async function forget(on = inbox): Promise<void> {
    const mark = message();
    await on.runOnce(mark, "mark", () => undefined, { evenIfOld: true });
    await eventually(async () => {
      await on.sweep();
      const rows = await open().query(`select id from ichido_inbox where handler = 'mark' and id = '${mark.id}'`);
      expect(rows).toEqual([]);
    }, 20_000);
  }

  test("W28 a replayed letter whose effect committed before its process died does not run again, however long nobody looks", async () => {
    const one = message();
    const bed = await consuming(inbox, [fails("stock")], short);
    await bed.deliver(one);
    await bed.consumer.stop();
    const decision = { handler: "stock", id: one.id, actor: "ann", reason: "mended" };
    expect(await inbox.dead.replay(decision)).toBe("ok");
    // What the process did that died before it took the letter away.
    const handler = writes("stock");
    const done = await inbox.runOnce(one, "stock", handler.once as never, { evenIfOld: true });
    expect(done).toEqual({ outcome: "processed" });
    await forget();
    const next = await consuming(inbox, [handler], short);
    await next.consumer.replay();
    expect(await effectsOf(one.id)).toHaveLength(1);
    expect(await inbox.dead.get(decision)).toBeUndefined();
    // Without its letter it is forgotten like any other.
    await forget();
    expect(await open().query(`select id from ichido_inbox where id = '${one.id}'`)).toEqual([]);
  });

  test("W28 what a letter kept is remembered for the retention after it: somebody may have read the letter before", async () => {
    const long = inboxOn(open().side().runner, { retentionMs: 3_600_000 });
    const [one, other] = [message(), message()];
    const bed = await consuming(long, [fails("stock")], short);
    await bed.deliver(one);
    await bed.consumer.stop();
    const decision = { handler: "stock", id: one.id, actor: "ann", reason: "mended" };
    expect(await long.dead.replay(decision)).toBe("ok");
    const handler = writes("stock");
    const run = (which: EventMessage) => long.runOnce(which, "stock", handler.once as never, { evenIfOld: true });
    for (const each of [one, other]) expect(await run(each)).toEqual({ outcome: "processed" });
    await open().query("update ichido_inbox set processed_ms = processed_ms - 7200000 where handler = 'stock'");
    const next = await consuming(long, [handler], short);
    await next.consumer.replay();
    expect(await long.dead.get(decision)).toBeUndefined();
    await open().query("update ichido_inbox_clock set steady_ms = 0");
    await long.sweep();
    // Swept, and so it would run again; the other is remembered.
    expect(await open().query(`select id from ichido_inbox where id = '${other.id}'`)).toEqual([]);
    expect(await run(one)).toEqual({ outcome: "duplicate" });
    expect(await effectsOf(one.id)).toHaveLength(1);
  });

  test("an event older than the retention is a dead letter, runs when a person says so, and is a duplicate then", async () => {
    const long = inboxOn(open().side().runner);
    const bed = await consuming(long, [writes("late")], { replayMs: 600_000 });
    const one = old();
    for (const deliveries of [1, 2]) await bed.deliver(one, deliveries);
    expect(await effectsOf(one.id)).toEqual([]);
    expect(bed.answers.acked).toEqual([one.id, one.id]);
    expect(bed.events.filter(({ type }) => type === "dead")).toMatchObject([{ reason: "too-old" }]);
    const decision = { handler: "late", id: one.id, actor: "ann", reason: "it was never delivered" };
    expect(await Promise.all([1, 2].map(() => long.dead.replay(decision)))).toContain("ok");
    await eventually(async () => expect(await long.dead.get(decision)).toBeUndefined(), 20_000);
    await bed.deliver(one, 3);
    expect(await effectsOf(one.id)).toHaveLength(1);
    expect(bed.types().filter((type) => type === "processed")).toHaveLength(1);
  });

  test("outside a consumer an old event is a conflict, too old; one that is remembered stays a duplicate", async () => {
    const long = inboxOn(open().side().runner);
    const [forgotten, remembered] = [old(), old()];
    const once = writes("alone").once as never;
    expect(await long.runOnce(forgotten, "alone", once)).toEqual({ outcome: "conflict", reason: "too-old" });
    expect(await long.runOnce(remembered, "alone", once, { evenIfOld: true })).toEqual({ outcome: "processed" });
    expect(await long.runOnce(remembered, "alone", once)).toEqual({ outcome: "duplicate" });
    expect(await effectsOf(forgotten.id)).toEqual([]);
    // What has no time, or one that says nothing, cannot be judged by it.
    for (const time of ["", "yesterday"]) {
      expect(await long.runOnce(message({ time }), "alone", once)).toEqual({ outcome: "processed" });
    }
  });

  test("W28 a relay's letter replayed after the retention does not run a second time", async () => {
    const { runner } = open().side();
    // Long enough that the first delivery is in time on a busy machine, too.
    const some = inboxOn(runner, { retentionMs: 5_000 });
    const { publisher, subscription } = inProcess({ callTimeoutMs: 4_000, redeliveryMsMax: 4_000 });
    const outbox = createOutbox({
      transactions: runner,
      source: "/shop",
      topics: { "*": { to: "p", attemptsMax: 1 } },
    });
    await outbox.migrate();
    let taken = 0;
    // The broker has it, and says that it refused it.
    const publish = async (event: EventMessage) => {
      const published = await publisher.publish(event);
      return (taken += 1) === 1 ? { outcome: "rejected" as const, error: new Error("refused") } : published;
    };
    const relay = createRelay(outbox, { routes: { p: { ...publisher, publish } } });
    const bed = await consuming(some, [writes("once")], { ...short, subscription });
    const id = await runner.run(
      async (_tx, handle) => (await outbox.add(handle, { topic: "order.paid", payload: {} })).id,
    );
    await relay.start();
    onTestFinished(() => relay.stop());
    const letter = await eventually(async () => {
      const [first] = (await outbox.dead.list()).letters;
      return first ?? expect.fail("no letter yet");
    }, 20_000);
    expect(await effectsOf(id)).toHaveLength(1);
    await forget(some);
    expect(await outbox.dead.replay({ seq: letter.seq, actor: "ann", reason: "again" })).toBe("ok");
    await eventually(async () => expect((await outbox.stats()).pending).toBe(0), 20_000);
    await eventually(() => expect(bed.types()).toContain("dead"), 20_000);
    expect(await effectsOf(id)).toHaveLength(1);
    expect(await some.dead.get({ handler: "once", id })).toMatchObject({ reason: "too-old" });
  });

  test("an event that may be forgotten is too old, also when processes died with it", async () => {
    const long = inboxOn(open().side().runner);
    const bed = await consuming(long, [writes("died")], { replayMs: 600_000, crashesMax: 2 });
    const one = old();
    for (const _death of [1, 2]) await partsOf(inbox as Inbox<never>).starts.begin(one, "died");
    await bed.deliver(one, 4);
    // Who reads `crashed` takes it that it never ended, and may replay it without a look.
    expect(await long.dead.get({ handler: "died", id: one.id })).toMatchObject({ reason: "too-old" });
    expect(await effectsOf(one.id)).toEqual([]);
  });

  test("a replayed letter of a run handler that was started and did not end is put back once its record may be gone", async () => {
    const leased = leasedInboxOn(open().side(), "rerun", { retentionMs });
    let runs = 0;
    const run = (): void => void (runs += 1);
    const bed = await consuming(leased, [{ name: "charge", topics: ["*"], run }], short);
    const one = old();
    await bed.deliver(one);
    const decision = { handler: "charge", id: one.id, actor: "ann", reason: "it never ran" };
    expect(await leased.dead.get(decision)).toMatchObject({ reason: "too-old" });
    await bed.consumer.stop();
    expect(await leased.dead.replay(decision)).toBe("ok");
    // A process that took the letter up and died: nobody can tell what it did.
    await partsOf(inbox as Inbox<never>).starts.begin(one, "charge");
    await forget();
    const next = await consuming(leased, [{ name: "charge", topics: ["*"], run }], short);
    await next.consumer.replay();
    expect(runs).toBe(0);
    expect(await leased.dead.get(decision)).toMatchObject({ state: "dead", reason: "too-old" });
    expect(await leased.dead.replay(decision)).toBe("ok");
    await eventually(async () => expect(await leased.dead.get(decision)).toBeUndefined(), 20_000);
    expect(runs).toBe(1);
  });

  test("a replayed letter of a run handler whose record may be gone since its deaths were counted is too old, not crashed", async () => {
    const side = open().side();
    let aheadMs = 0;
    const environment: Environment = {
      ...systemEnvironment,
      wallMs: () => Date.now() + aheadMs,
      after(delayMs, ...rest) {
        // It waits for those who end late; meanwhile the record expires.
        if (delayMs === 1_500) aheadMs = 15 * dayMs;
        return systemEnvironment.after(delayMs, ...rest);
      },
    };
    const leased = leasedInboxOn(side, "rerun", { environment });
    const run = (): never => expect.unreachable();
    const one = message();
    const key = { handler: "levy", id: one.id };
    const { letters, starts } = partsOf(inbox as Inbox<never>);
    await letters.put(one, "levy", { reason: "failed", error: "no", attempts: 1 });
    expect(await inbox.dead.replay({ ...key, actor: "ann", reason: "mended" })).toBe("ok");
    for (const _death of [1, 2]) await starts.begin(one, "levy");
    const options = { crashesMax: 2, replayMs: 600_000, redeliveryMsMax: dayMs };
    const bed = await consuming(leased, [{ name: "levy", topics: ["*"], run }], options);
    await bed.consumer.replay();
    // Who reads `crashed` takes it that it never ended, and may replay it without a look.
    expect(await inbox.dead.get(key)).toMatchObject({ state: "dead", reason: "too-old" });
  });

  test("a replayed letter of a run handler that ended does not run again when its record is forgotten before the letter is gone", async () => {
    const leased = leasedInboxOn(open().side(), "rerun", { retentionMs });
    let runs = 0;
    const run = (): void => void (runs += 1);
    const bed = await consuming(leased, [{ name: "refund", topics: ["*"], run }], short);
    const one = old();
    await bed.deliver(one);
    await bed.consumer.stop();
    const decision = { handler: "refund", id: one.id, actor: "ann", reason: "it never ran" };
    expect(await leased.dead.replay(decision)).toBe("ok");
    // What a consumer does that cannot take the letter away then, or is not the only one that looks.
    expect(await leased.run(one, "refund", run, { evenIfOld: true })).toEqual({ outcome: "processed" });
    expect(runs).toBe(1);
    await forget();
    const next = await consuming(leased, [{ name: "refund", topics: ["*"], run }], short);
    await next.consumer.replay();
    expect(runs).toBe(1);
    expect(await leased.dead.get(decision)).toBeUndefined();
  });

  test("a replayed letter of a run handler whose end could not be noted is put back when its record is forgotten", async () => {
    const side = open().side();
    let isAway = false;
    const runner: typeof side.runner = {
      ...side.runner,
      run: (fn, options) =>
        side.runner.run((tx, handle) => {
          const execute: typeof handle.execute = async (sql, values, how) => {
            if (isAway && /(insert into|delete from|select) \S*inbox(_dead|_take)?\b/i.test(sql))
              throw new Error("the connection was lost");
            return handle.execute(sql, values, how);
          };
          return fn(tx, { ...handle, execute });
        }, options),
    };
    const leased = leasedInboxOn({ ...side, runner }, "rerun", { retentionMs });
    let runs = 0;
    const run = (): void => void (runs += 1);
    const bed = await consuming(leased, [{ name: "unnoted", topics: ["*"], run }], short);
    const one = old();
    await bed.deliver(one);
    const decision = { handler: "unnoted", id: one.id, actor: "ann", reason: "it never ran" };
    const desk = inboxOn(side.runner);
    expect(await desk.dead.replay(decision)).toBe("ok");
    isAway = true;
    // Not done: it is handed back until it is noted.
    expect(await bed.consumer.replay()).toBe(0);
    expect(runs).toBe(1);
    await bed.consumer.stop();
    isAway = false;
    await forget();
    // The store has forgotten its record, too.
    const forgetful = leasedInboxOn({ ...side, store: memoryStore() }, "rerun", { retentionMs });
    const next = await consuming(forgetful, [{ name: "unnoted", topics: ["*"], run }], short);
    await next.consumer.replay();
    expect(runs).toBe(1);
    expect(await desk.dead.get(decision)).toMatchObject({ state: "dead", reason: "too-old" });
  });

  test("a replayed letter of a run handler that ran and could not be noted is only noted, also once its record is forgotten", async () => {
    const side = open().side();
    const options = { dangerouslyShareKeys: true, onUnknown: "rerun", sweepMs: "off", onEvent: () => {} } as const;
    const engineOn = () => createIchido({ store: memoryStore(), ...options });
    let [engine, isAway, runs] = [engineOn(), false, 0];
    const runner: typeof side.runner = {
      ...side.runner,
      run: (fn, how) => {
        if (!isAway) return side.runner.run(fn, how);
        return Promise.reject(new Error("ECONNREFUSED"));
      },
    };
    const leased = inboxOn(runner, { ichido: { run: (...args) => engine.run(...args) } });
    const run = (): void => {
      runs += 1;
      isAway = true;
    };
    const bed = await consuming(leased, [{ name: "remit", topics: ["*"], run }], {
      ...short,
      redeliveryMsMax: dayMs,
      onEvent: ({ type }) => {
        if (type !== "unavailable") return;
        // Its record counts from first sight, and expires with the answer.
        engine = engineOn();
        isAway = false;
      },
    });
    const one = old();
    await bed.deliver(one);
    const decision = { handler: "remit", id: one.id, actor: "ann", reason: "it never ran" };
    expect(await leased.dead.replay(decision)).toBe("ok");
    await eventually(async () => {
      await bed.consumer.replay();
      expect(await inboxOn(side.runner).dead.get(decision)).toBeUndefined();
    }, 20_000);
    expect(runs).toBe(1);
    expect(await inboxOn(side.runner, { ichido: engineOn() }).run(one, "remit", run, { evenIfOld: true })).toEqual({
      outcome: "duplicate",
    });
  });

  test("a replayed letter of a run handler that proves to have run is a duplicate, also for whoever meets it without its record", async () => {
    const side = open().side();
    let isVisible = false;
    const verify = () =>
      isVisible
        ? ({ verdict: "found", response: { status: 200, body: null } } as const)
        : ({ verdict: "absent" } as const);
    const options = { dangerouslyShareKeys: true, sweepMs: "off", onEvent: () => {} } as const;
    const ichido = createIchido({ store: side.store, onUnknown: { verify }, ...options });
    const run = (): never => {
      throw new Error("no answer");
    };
    const asking = inboxOn(side.runner, { ichido });
    const bed = await consuming(asking, [{ name: "ship", topics: ["*"], run }], { ...short, redeliveryMsMax: dayMs });
    const one = message();
    await bed.deliver(one);
    const decision = { handler: "ship", id: one.id, actor: "ann", reason: "mended" };
    expect(await asking.dead.replay(decision)).toBe("ok");
    // Another process ran it and did not hear whether it took effect.
    await expect(asking.run(one, "ship", run)).rejects.toThrow("no answer");
    isVisible = true;
    await eventually(async () => {
      await bed.consumer.replay();
      expect(await asking.dead.get(decision)).toBeUndefined();
    });
    // A third one has the letter in its hands, and by now the record is forgotten.
    const late = inboxOn(side.runner, {
      ichido: createIchido({ store: memoryStore(), onUnknown: "rerun", ...options }),
    });
    expect(await late.run(one, "ship", () => expect.unreachable(), { evenIfOld: true })).toEqual({
      outcome: "duplicate",
    });
  });

  test("a letter of a run handler whose message was delivered again and ran is a duplicate, also once its record is forgotten", async () => {
    const side = open().side();
    const leased = leasedInboxOn(side, "rerun");
    let runs = 0;
    const run = (): void => {
      runs += 1;
      if (runs === 1) throw new Error("broken");
    };
    const handlers = [{ name: "pack", topics: ["*"], run }];
    const bed = await consuming(leased, handlers, { ...short, redeliveryMsMax: dayMs });
    const one = message();
    await bed.deliver(one);
    await bed.consumer.stop();
    const decision = { handler: "pack", id: one.id, actor: "ann", reason: "mended" };
    expect(await leased.dead.replay(decision)).toBe("ok");
    // Another handler of the same message had no outcome yet: the broker delivers it again, before anybody looks at letters.
    expect(await leased.run(one, "pack", run)).toEqual({ outcome: "processed" });
    const options = { dangerouslyShareKeys: true, onUnknown: "rerun", sweepMs: "off", onEvent: () => {} } as const;
    const late = inboxOn(side.runner, { ichido: createIchido({ store: memoryStore(), ...options }) });
    const next = await consuming(late, handlers, { ...short, redeliveryMsMax: dayMs });
    await next.consumer.replay();
    expect(runs).toBe(2);
    expect(await leased.dead.get(decision)).toBeUndefined();
  });

  test("the time of a delayed event is that from which on it may be delivered", async () => {
    const { runner } = open().side();
    const outbox = createOutbox({
      transactions: runner,
      source: "/shop",
      tablePrefix: "later_",
      topics: { "*": { to: "p" } },
    });
    await outbox.migrate();
    const seen: EventMessage[] = [];
    const publish = async (event: EventMessage) => {
      seen.push(event);
      return { outcome: "sent" as const };
    };
    const relay = createRelay(outbox, { routes: { p: { name: "p", publish, close: async () => undefined } } });
    const beforeMs = Date.now();
    await runner.run((_tx, handle) => outbox.add(handle, { topic: "order.due", payload: {}, delayMs: 300 }));
    await relay.start();
    onTestFinished(() => relay.stop());
    await eventually(() => expect(seen).toHaveLength(1), 20_000);
    expect(Date.parse(seen[0]?.time ?? "")).toBeGreaterThanOrEqual(beforeMs + 300);
  });
});
