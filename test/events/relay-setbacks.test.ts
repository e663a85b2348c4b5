/** Who holds a relay up, and who does not: events that find no way, producers that take their time. On every database. */
import { createRelay, type RelayEvent, type RelayOptions } from "ichido/outbox";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { idsOf, openOutbox, unavailable, wire } from "./outbox-bed.ts";

type Bed = Awaited<ReturnType<typeof openOutbox>>;

function relayOf(outbox: Bed, publisher = wire(), options: Partial<RelayOptions> = {}) {
  const events: RelayEvent[] = [];
  const relay = createRelay(outbox, {
    routes: { wire: publisher, other: wire() },
    backoffMs: 1,
    backoffMsMax: 1,
    pauseMs: 1,
    pauseMsMax: 1,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { relay, publisher, events };
}

async function add(outbox: Bed, ...messages: readonly { topic: string; key?: string; id: string }[]) {
  await outbox.transaction(async (_tx, handle) => {
    for (const message of messages) await outbox.add(handle, { payload: { at: message.id }, ...message });
  });
}

forEachDatabase("relay setbacks", (open) => {
  it("a wake channel that cannot listen makes start() reject, and the relay does not call itself running", async () => {
    const listen = (): never => {
      throw new TypeError("listen is not a function");
    };
    const outbox = await openOutbox(open(), { wake: { notify: () => undefined, listen } });
    const { relay } = relayOf(outbox);
    await expect(relay.start()).rejects.toThrow("listen is not a function");
    expect(relay.health().running).toBe(false);
    await relay.stop();
  });

  it.each([
    ["in order", "order.paid"],
    ["without order", "mail.x"],
  ])("one event that stays unavailable stops no other of its rule, %s", async (_, topic) => {
    const outbox = await openOutbox(open());
    const others = Array.from({ length: 40 }, (__, at) => `other-${at}`);
    await add(outbox, { topic, key: "stuck", id: "stuck" }, { topic, key: "stuck", id: "behind" });
    await add(outbox, ...others.map((id) => ({ topic, key: id, id })));
    let stuck = true;
    const publisher = wire(({ id }) => (stuck && id === "stuck" ? unavailable("forbidden") : { outcome: "sent" }));
    // One at a time: nothing leaves beside the one that is stuck.
    const { relay, events } = relayOf(outbox, publisher, { concurrency: 1 });
    const isOrdered = topic === "order.paid";
    await eventually(async () => {
      await relay.tick();
      expect(idsOf(publisher.sent)).toHaveLength(isOrdered ? 40 : 41);
      expect(relay.health().setAside).toBe(1);
    }, 60_000);
    expect(idsOf(publisher.sent)).toEqual(expect.arrayContaining(others));
    expect(events).toContainEqual(expect.objectContaining({ type: "set-aside", id: "stuck", topic }));
    expect(await outbox.stats()).toMatchObject({ pending: isOrdered ? 2 : 1, dead: 0 });
    stuck = false;
    await eventually(async () => {
      await relay.tick();
      expect(publisher.sent).toHaveLength(42);
    }, 60_000);
    await relay.stop();
    if (isOrdered) expect(idsOf(publisher.sent).slice(-2)).toEqual(["stuck", "behind"]);
    expect(relay.health().setAside).toBe(0);
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0, parked: 0 });
  });

  it("events that stay unavailable, more than a relay holds at once, do not keep it from those behind them", async () => {
    const outbox = await openOutbox(open());
    const range = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}-${at}`);
    const [stuck, others] = [range("stuck", 35), range("other", 15)];
    await add(outbox, ...[...stuck, ...others].map((id) => ({ topic: "order.paid", key: id, id })));
    const publisher = wire(({ id }) => (id.startsWith("stuck") ? unavailable("full") : { outcome: "sent" }));
    const { relay } = relayOf(outbox, publisher, {
      batch: 10,
      idleMs: 1,
      idleMsMax: 5,
      backoffMs: 50,
      backoffMsMax: 1_000,
    });
    await relay.start();
    await eventually(() => expect(idsOf(publisher.sent).toSorted()).toEqual(others.toSorted()), 60_000);
    await relay.stop();
    expect(await outbox.stats()).toMatchObject({ pending: 35, dead: 0 });
  });

  it.each([
    ["removed", 0],
    ["kept", 60_000],
  ])(
    "a producer that leaves its transaction open holds no relay up, where what was sent is %s",
    async (_, keepSentMs) => {
      const database = open();
      if (database.dialect === "sqlite") return; // One writer at a time.
      const outbox = await openOutbox(database, { keepSentMs });
      await add(
        outbox,
        ...Array.from({ length: 40 }, (__, at) => ({ topic: "order.paid", key: `k${at}`, id: `e${at}` })),
      );
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
      const producing = outbox.transaction(async (__, handle) => {
        await outbox.add(handle, { topic: "order.paid", key: "open", payload: 1, id: "open" });
        reach();
        await released;
      });
      await reached;
      const { relay, publisher } = relayOf(outbox);
      // Held up, it would wait for the producer, which waits for it: the server's timeout would end that with an error.
      expect(await relay.tick()).toMatchObject({ sent: 40 });
      release();
      await producing;
      await relay.tick();
      await relay.stop();
      expect(idsOf(publisher.sent).at(-1)).toBe("open");
      expect(await outbox.stats()).toMatchObject({ pending: 0 });
    },
  );

  it("a rule that is split while events wait keeps their order where it says with whom", async () => {
    const database = open();
    const before = await openOutbox(database, { topics: { "order.*": { to: "wire" } } });
    await add(before, ...["e0", "e1"].map((id) => ({ topic: "order.paid", key: "a", id })));
    const refusing = relayOf(
      before,
      wire(() => ({ outcome: "later", error: new Error("not yet"), delayMs: 3_600_000 })),
    );
    await refusing.relay.tick();
    await refusing.relay.stop();
    const after = await openOutbox(database, {
      tablePrefix: before.tablePrefix,
      topics: { "order.paid": { to: "wire", orderedWith: "order.*" }, "order.*": { to: "wire" } },
    });
    await add(after, { topic: "order.paid", key: "a", id: "e2" }, { topic: "order.sent", key: "a", id: "e3" });
    await add(after, { topic: "order.paid", key: "b", id: "other" });
    const { relay, publisher } = relayOf(after);
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["other"]);
    await database.query(`UPDATE ${before.tablePrefix}outbox_parked SET until_ms = 0`);
    await relay.tick();
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["other", "e0", "e1", "e2", "e3"]);
  });

  it("rules that keep one order pause together", async () => {
    const outbox = await openOutbox(open(), {
      topics: { "order.paid": { to: "wire", orderedWith: "order.*" }, "order.*": { to: "wire" } },
    });
    let isDown = true;
    const publisher = wire(({ topic }) =>
      isDown && topic === "order.paid"
        ? { outcome: "unavailable", error: new Error("down"), scope: "paid" }
        : { outcome: "sent" },
    );
    const { relay } = relayOf(outbox, publisher, { pauseMs: 60_000, pauseMsMax: 60_000 });
    await add(outbox, { topic: "order.paid", key: "a", id: "a1" });
    await relay.tick();
    await add(outbox, { topic: "order.sent", key: "a", id: "a2" });
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual([]);
    await relay.stop();
    isDown = false;
    const later = relayOf(outbox, publisher);
    await later.relay.tick();
    await later.relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["a1", "a2"]);
  });
});
