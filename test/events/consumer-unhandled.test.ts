/** A topic that no handler wants stops nobody and is not lost, on the three databases. */
import { createConsumer, type Inbox } from "ichido/inbox";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { consuming, writes } from "./consumer-bed.ts";
import { testBroker } from "./inbox-broker.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { inboxOn, message, migrated } from "./inbox-messages.ts";

const unhandled = "(unhandled)";

forEachDatabase("a topic without a handler", (open) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = await migrated(open());
  });
  const effectsOf = async (id: string): Promise<readonly string[]> =>
    (await open().effects()).filter((name) => name.endsWith(` ${id}`)).map((name) => name.slice(0, -id.length - 1));

  test("W2 is a dead letter with an alarm, and is acknowledged: what stands behind it goes on", async () => {
    const bed = await consuming(inbox, [writes("narrow", ["order.paid"])]);
    const [one, next] = [message({ topic: "stock.moved", key: "k" }), message()];
    await bed.deliver(one);
    await bed.deliver(one, 2);
    await bed.deliver(next);
    expect(bed.answers).toMatchObject({ acked: [one.id, one.id, next.id], retried: [] });
    expect(bed.events[0]).toEqual({ type: "unhandled", topic: "stock.moved", id: one.id, action: "keep" });
    expect(bed.consumer.health().unhandled).toEqual(["stock.moved"]);
    expect(await inbox.dead.get({ handler: unhandled, id: one.id })).toMatchObject({
      reason: "unhandled",
      state: "dead",
      message: one,
    });
    expect((await inbox.dead.list({ handler: unhandled, topic: "stock.moved" })).letters).toHaveLength(1);
  });

  test("is told on standard error, once for each topic, where nobody listens", async () => {
    const said = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => said.mockRestore());
    const broker = testBroker();
    const consumer = createConsumer({
      subscription: broker.subscription,
      inbox,
      handlers: [writes("narrow", ["order.paid"])],
    });
    await consumer.start();
    onTestFinished(() => consumer.stop());
    for (const topic of ["stock.moved", "stock.moved", "stock.sold"]) await broker.deliver(message({ topic }));
    const texts = said.mock.calls.map(([text]) => String(text)).filter((text) => text.startsWith("no handler"));
    expect(texts.map((text) => /topic (\S+):/.exec(text)?.[1])).toEqual(["stock.moved", "stock.sold"]);
  });

  test("a letter that nobody wanted is replayed to the handlers that want it now, once each, audited", async () => {
    const bed = await consuming(inbox, [writes("early", ["order.paid"])]);
    const one = message({ topic: "order.cancelled" });
    await bed.deliver(one);
    await bed.consumer.stop();
    const decision = { handler: unhandled, id: one.id, actor: "ann", reason: "deployed refunds" };
    await expect(inbox.dead.replay(decision)).rejects.toThrow(/to: expected the names of the handlers/);
    const to = ["refunds", "mails"];
    expect(await inbox.dead.replay({ ...decision, to })).toBe("ok");
    expect(await inbox.dead.replay({ ...decision, to })).toBe("absent");
    expect(await inbox.dead.audit(decision)).toMatchObject([{ action: "replay", actor: "ann" }]);
    const next = await consuming(inbox, [writes("refunds"), writes("mails")], { replayMs: 600_000 });
    expect(await next.consumer.replay()).toBe(2);
    expect(await effectsOf(one.id)).toEqual(["refunds", "mails"]);
    await next.deliver(one, 2);
    expect(await effectsOf(one.id)).toEqual(["refunds", "mails"]);
    expect((await inbox.dead.list({ topic: "order.cancelled" })).letters).toEqual([]);
  });

  test("a letter whose handler was renamed is replayed to the new name, also when it was marked before", async () => {
    const broken = { name: "old-name", topics: ["*"], once: () => Promise.reject(new Error("no")) };
    const bed = await consuming(inbox, [broken], { attemptsMax: 1 });
    const one = message();
    await bed.deliver(one);
    await bed.consumer.stop();
    const decision = { handler: "old-name", id: one.id, actor: "ann", reason: "renamed" };
    expect(await inbox.dead.replay(decision)).toBe("ok");
    expect(await inbox.dead.replay({ ...decision, to: ["new-name"] })).toBe("ok");
    const next = await consuming(inbox, [writes("new-name")], { replayMs: 600_000 });
    expect(await next.consumer.replay()).toBe(1);
    expect(await effectsOf(one.id)).toEqual(["new-name"]);
    // The old name is done with it.
    expect(await inbox.runOnce(one, "old-name", () => expect.unreachable())).toEqual({ outcome: "duplicate" });
  });

  test("a letter is not replayed to where it was processed", async () => {
    const one = message({ topic: "order.cancelled" });
    const bed = await consuming(inbox, [writes("early", ["order.paid"])]);
    await bed.deliver(one);
    const next = await consuming(inbox, [writes("twice")], { replayMs: 600_000 });
    await next.deliver(one, 2);
    const decision = { handler: unhandled, id: one.id, actor: "ann", reason: "deployed", to: ["twice"] };
    expect(await inbox.dead.replay(decision)).toBe("ok");
    await next.consumer.replay();
    expect(await effectsOf(one.id)).toEqual(["twice"]);
    expect((await inbox.dead.list({ handler: "twice" })).letters).toEqual([]);
  });

  test("is handed back or passed by where that was asked for, with the same alarm", async () => {
    const one = message({ topic: "stock.counted" });
    const patient = await consuming(inbox, [writes("narrow", ["order.paid"])], {
      unhandled: "retry",
      unhandledMs: 45_000,
    });
    await patient.deliver(one);
    expect(patient.answers).toMatchObject({ acked: [], retried: [{ id: one.id, delayMs: 45_000 }] });
    expect(patient.events).toMatchObject([{ type: "unhandled", topic: "stock.counted", action: "retry" }]);
    const deaf = await consuming(inbox, [writes("narrow", ["order.paid"])], { unhandled: "ignore" });
    await deaf.deliver(one);
    expect(deaf.answers.acked).toEqual([one.id]);
    expect(deaf.events).toMatchObject([{ type: "unhandled", action: "ignore" }]);
    expect(await inbox.dead.get({ handler: unhandled, id: one.id })).toBeUndefined();
  });

  test("is not acknowledged while its letter cannot be written", async () => {
    const { runner } = open().side();
    let down = false;
    const away = inboxOn({
      ...runner,
      run: (fn, options) => (down ? Promise.reject(new Error("away")) : runner.run(fn, options)),
    });
    const bed = await consuming(away, [writes("narrow", ["order.paid"])]);
    down = true;
    const one = message({ topic: "stock.moved" });
    await bed.deliver(one);
    expect(bed.answers).toMatchObject({ acked: [], retried: [{ id: one.id }] });
    expect(bed.types()).toEqual(["unhandled", "unavailable"]);
  });

  test("a message that went round for want of a handler runs as soon as there is one", async () => {
    const bed = await consuming(inbox, [writes("deployed")], { crashesMax: 1 });
    const one = message();
    await bed.deliver(one, 50);
    expect(await effectsOf(one.id)).toEqual(["deployed"]);
  });

  test("a topic that the subscription names and no handler wants is refused at start, unless it is to be ignored", async () => {
    const made = (topics: readonly string[], more: object = {}) => {
      const broker = testBroker();
      const subscription = { ...broker.subscription, topics };
      return createConsumer({ subscription, inbox, handlers: [writes("narrow", ["order.paid"])], ...more });
    };
    await expect(made(["order.paid", "order.cancelled"]).start()).rejects.toThrow(
      /no handler wants the topic order\.cancelled/,
    );
    for (const consumer of [
      made(["order.*"]),
      made(["order.paid"]),
      made(["order.cancelled"], { unhandled: "ignore" }),
    ]) {
      await consumer.start();
      await consumer.stop();
    }
  });
});
