/** What the relay promises, on every database, driven by ticks. */
import { createRelay, type RelayEvent, type RelayOptions } from "ichido/outbox";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { idsOf, openOutbox, rejected, unavailable, wire } from "./outbox-bed.ts";

type Bed = Awaited<ReturnType<typeof openOutbox>>;

function relayOf(outbox: Bed, publisher = wire(), options: Partial<RelayOptions> = {}) {
  const events: RelayEvent[] = [];
  const other = wire();
  const relay = createRelay(outbox, {
    routes: { wire: publisher, other },
    backoffMs: 1,
    backoffMsMax: 1,
    pauseMs: 1,
    pauseMsMax: 1,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { relay, publisher, other, events };
}

async function add(outbox: Bed, ...messages: readonly { topic: string; key?: string; id: string }[]) {
  await outbox.transaction(async (_tx, handle) => {
    for (const message of messages) await outbox.add(handle, { payload: { at: message.id }, ...message });
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

forEachDatabase("relay", (open) => {
  it("events of one key leave one after the other, in the order in which they were added", async () => {
    const outbox = await openOutbox(open());
    const expected = new Map<string, string[]>();
    await outbox.transaction(async (_tx, handle) => {
      for (let at = 0; at < 120; at += 1) {
        const key = `k${at % 7}`;
        const { id } = await outbox.add(handle, { topic: "order.paid", key, payload: at });
        expected.set(key, [...(expected.get(key) ?? []), id]);
      }
    });
    const away = new Set<string>();
    let together = 0;
    const publisher = wire(async (message) => {
      expect(away.has(message.key ?? ""), "one of a key at a time").toBe(false);
      away.add(message.key ?? "");
      together = Math.max(together, away.size);
      await pause(Math.random() * 3);
      away.delete(message.key ?? "");
      return { outcome: "sent" };
    });
    const { relay } = relayOf(outbox, publisher, { batch: 40 });
    while ((await relay.tick()).more);
    await relay.stop();
    for (const [key, ids] of expected)
      expect(idsOf(publisher.sent.filter((message) => message.key === key))).toEqual(ids);
    expect(together, "different keys go at once").toBeGreaterThan(1);
  });

  it("a slow key with a long backlog delays no other, and loses neither its order nor an event", async () => {
    const outbox = await openOutbox(open());
    const backlog = Array.from({ length: 300 }, (_, at) => `slow-${String(at).padStart(3, "0")}`);
    const others = Array.from({ length: 60 }, (_, at) => `other-${at}`);
    await add(outbox, ...backlog.map((id) => ({ topic: "order.paid", key: "slow", id })));
    await add(outbox, ...others.map((id) => ({ topic: "order.paid", key: id, id })));
    let release: () => void = () => {};
    const opened = new Promise<void>((resolve) => {
      release = resolve;
    });
    // Its first event is not answered before all others have gone.
    const publisher = wire(async (message) => {
      if (message.key === "slow") await opened;
      return { outcome: "sent" };
    });
    const { relay } = relayOf(outbox, publisher, { batch: 40 });
    await relay.start();
    const sentOf = (prefix: string): string[] => idsOf(publisher.sent).filter((id) => id.startsWith(prefix));
    await eventually(() => expect(sentOf("other-")).toHaveLength(others.length), 30_000);
    expect(sentOf("slow-")).toEqual([]);
    release();
    await eventually(() => expect(sentOf("slow-")).toHaveLength(backlog.length), 30_000);
    await relay.stop();
    expect(sentOf("slow-")).toEqual(backlog);
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0 });
  });

  it("a refused event is tried again with backoff and its key waits; other keys and unordered topics go on", async () => {
    const outbox = await openOutbox(open());
    await add(
      outbox,
      { topic: "order.paid", key: "a", id: "a1" },
      { topic: "order.paid", key: "a", id: "a2" },
      { topic: "order.paid", key: "b", id: "b1" },
      { topic: "mail.x", key: "a", id: "m1" },
      { topic: "mail.x", key: "a", id: "m2" },
    );
    const publisher = wire(({ id }) => (["a1", "m1"].includes(id) ? rejected() : { outcome: "sent" }));
    const { relay } = relayOf(outbox, publisher, { backoffMs: 60_000, backoffMsMax: 60_000 });
    expect(await relay.tick()).toMatchObject({ sent: 2, rejected: 2 });
    expect(idsOf(publisher.sent).toSorted()).toEqual(["b1", "m2"]);
    await add(outbox, { topic: "order.paid", key: "a", id: "a3" }, { topic: "order.paid", key: "b", id: "b2" });
    expect(await relay.tick()).toMatchObject({ sent: 1, rejected: 0 });
    expect(await outbox.parked()).toMatchObject([{ key: "a", reason: "rejected", error: "Error: no" }]);
    await relay.stop();
  });

  it("after its wait a refused event goes before everything behind it", async () => {
    const outbox = await openOutbox(open());
    await add(outbox, ...["a1", "a2", "a3"].map((id) => ({ topic: "order.paid", key: "a", id })));
    let failures = 2;
    const publisher = wire(() => (failures-- > 0 ? rejected() : { outcome: "sent" }));
    const { relay } = relayOf(outbox, publisher);
    await eventually(async () => {
      await relay.tick();
      expect(publisher.sent).toHaveLength(3);
    });
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["a1", "a2", "a3"]);
    expect(await outbox.stats()).toMatchObject({ pending: 0, parked: 0, dead: 0 });
  });

  it("park-key: a dead letter stops its key only; replay sends it first, with the same id", async () => {
    const outbox = await openOutbox(open(), { topics: { "order.*": { to: "wire", attemptsMax: 2 } } });
    await add(
      outbox,
      { topic: "order.paid", key: "a", id: "a1" },
      { topic: "order.paid", key: "a", id: "a2" },
      { topic: "order.paid", key: "b", id: "b1" },
    );
    let cured = false;
    const publisher = wire(({ id }) => (id === "a1" && !cured ? rejected("schema 7") : { outcome: "sent" }));
    const { relay, events } = relayOf(outbox, publisher);
    await eventually(async () => {
      await relay.tick();
      expect(await outbox.stats()).toMatchObject({ dead: 1, parked: 1, pending: 1 });
    });
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["b1"]);
    expect(events.filter(({ type }) => type === "dead")).toMatchObject([{ id: "a1", reason: "rejected" }]);
    const { letters } = await outbox.dead.list({ topic: "order.paid" });
    expect(letters).toMatchObject([
      { message: { id: "a1" }, attempts: 2, error: "Error: schema 7", reason: "rejected" },
    ]);
    const seq = letters[0]?.seq ?? 0;
    cured = true;
    expect(await outbox.dead.replay({ seq, actor: "ada", reason: "schema fixed" })).toBe("ok");
    expect(await outbox.dead.replay({ seq, actor: "bob", reason: "again" })).toBe("absent");
    await relay.tick();
    await relay.tick();
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["b1", "a1", "a2"]);
    expect(await outbox.dead.audit(seq)).toMatchObject([{ actor: "ada", action: "replay", reason: "schema fixed" }]);
  });

  it("skip: a dead letter is passed by, and can be discarded once", async () => {
    const outbox = await openOutbox(open());
    await add(outbox, { topic: "skip.x", key: "a", id: "a1" }, { topic: "skip.x", key: "a", id: "a2" });
    const publisher = wire(({ id }) => (id === "a1" ? rejected() : { outcome: "sent" }));
    const { relay } = relayOf(outbox, publisher);
    await eventually(async () => {
      await relay.tick();
      expect(idsOf(publisher.sent)).toEqual(["a2"]);
    });
    await relay.stop();
    const seq = (await outbox.dead.list()).letters[0]?.seq ?? 0;
    expect(await outbox.dead.get(seq)).toMatchObject({ message: { id: "a1" } });
    const both = await Promise.all([
      outbox.dead.discard({ seq, actor: "ada", reason: "not needed" }),
      outbox.dead.discard({ seq, actor: "bob", reason: "not needed" }),
    ]);
    expect(both.toSorted()).toEqual(["absent", "ok"]);
    expect(await outbox.dead.audit(seq)).toHaveLength(1);
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0, parked: 0 });
  });

  it("a transport fault pauses what goes that way, costs no attempt and keeps the order; other routes go on", async () => {
    const outbox = await openOutbox(open());
    await add(
      outbox,
      { topic: "order.paid", key: "a", id: "a1" },
      { topic: "order.paid", key: "a", id: "a2" },
      { topic: "other.x", key: "a", id: "o1" },
    );
    let down = true;
    const publisher = wire(() => (down ? unavailable() : { outcome: "sent" }));
    const { relay, other, events } = relayOf(outbox, publisher);
    for (let round = 0; round < 30; round += 1) {
      await relay.tick();
      await pause(2);
    }
    expect(idsOf(other.sent)).toEqual(["o1"]);
    expect(publisher.calls.length).toBeGreaterThan(5);
    expect(events.some(({ type }) => type === "paused")).toBe(true);
    down = false;
    await eventually(async () => {
      await relay.tick();
      expect(idsOf(publisher.sent)).toEqual(["a1", "a2"]);
    });
    expect(events.some(({ type }) => type === "resumed")).toBe(true);
    await relay.stop();
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0 });
  });

  it("an event whose receiver asks for it later waits with its key, at no cost, and lets others pass", async () => {
    const outbox = await openOutbox(open());
    await add(
      outbox,
      { topic: "order.paid", key: "a", id: "a1" },
      { topic: "order.paid", key: "a", id: "a2" },
      { topic: "order.paid", key: "b", id: "b1" },
      { topic: "mail.x", id: "m1" },
    );
    let busy = true;
    const publisher = wire(({ id }) =>
      busy && ["a1", "m1"].includes(id)
        ? { outcome: "later", error: new Error("in flight"), delayMs: 150 }
        : { outcome: "sent" },
    );
    const { relay, events } = relayOf(outbox, publisher);
    await relay.tick();
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["b1"]);
    expect(await outbox.parked()).toMatchObject([{ key: "a", reason: "postponed", error: "Error: in flight" }]);
    busy = false;
    await eventually(async () => {
      await relay.tick();
      expect(publisher.sent).toHaveLength(4);
    });
    await relay.stop();
    expect(idsOf(publisher.sent.filter(({ key }) => key === "a"))).toEqual(["a1", "a2"]);
    expect(events.some(({ type }) => type === "rejected" || type === "paused")).toBe(false);
    expect(await outbox.parked()).toEqual([]);
  });

  it("an event without a rule stays, alarms, and stops nobody (W2)", async () => {
    const outbox = await openOutbox(open());
    await add(outbox, { topic: "unknown.x", key: "a", id: "u1" }, { topic: "order.paid", key: "a", id: "a1" });
    const { relay, publisher, events } = relayOf(outbox);
    await relay.tick();
    await relay.tick();
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["a1"]);
    expect(events).toContainEqual({ type: "unrouted", id: "u1", topic: "unknown.x" });
    expect(await outbox.stats()).toMatchObject({ pending: 1, dead: 0 });
  });

  it("an event that commits late is sent, although later numbers went before it (W11b)", async () => {
    const database = open();
    if (database.dialect === "sqlite") return; // One writer at a time: numbers commit in order.
    const outbox = await openOutbox(database);
    const { relay, publisher } = relayOf(outbox);
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let added: (() => void) | undefined;
    const hasAdded = new Promise<void>((resolve) => {
      added = resolve;
    });
    const late = outbox.transaction(async (_tx, handle) => {
      await outbox.add(handle, { topic: "order.paid", key: "a", payload: 1, id: "late" });
      added?.();
      await held;
    });
    await hasAdded;
    await add(outbox, { topic: "order.paid", key: "b", id: "early" });
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["early"]);
    release?.();
    await late;
    await relay.tick();
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["early", "late"]);
  });

  it("two relays share the lanes; what is added is sent once while both live", async () => {
    const database = open();
    const outbox = await openOutbox(database);
    const publisher = wire(async () => {
      await pause(1);
      return { outcome: "sent" };
    });
    const one = relayOf(outbox, publisher, { name: "one", leaseMs: 3_000, batch: 50 });
    const two = relayOf(outbox, publisher, { name: "two", leaseMs: 3_000, batch: 50 });
    await one.relay.start();
    expect(one.relay.health().lanes).toBe(64);
    await two.relay.start();
    await eventually(async () => {
      expect([one.relay.health().lanes, two.relay.health().lanes]).toEqual([32, 32]);
    });
    const expected = new Map<string, string[]>();
    for (let round = 0; round < 10; round += 1) {
      await outbox.transaction(async (_tx, handle) => {
        for (let at = 0; at < 40; at += 1) {
          const key = `k${at}`;
          const { id } = await outbox.add(handle, { topic: "order.paid", key, payload: at });
          expected.set(key, [...(expected.get(key) ?? []), id]);
        }
      });
    }
    await eventually(async () => {
      expect(publisher.sent.length).toBeGreaterThanOrEqual(400);
      expect(await outbox.stats()).toMatchObject({ pending: 0 });
    });
    for (const [key, ids] of expected)
      expect(idsOf(publisher.sent.filter((message) => message.key === key))).toEqual(ids);
    await one.relay.stop();
    await eventually(async () => {
      expect(two.relay.health().lanes).toBe(64);
    });
    await two.relay.stop();
    expect(await outbox.stats()).toMatchObject({ relays: 0 });
  });

  it("a relay that slept past its lease writes nothing more and sends nothing twice that it knows was sent (W7, W23)", async () => {
    const database = open();
    const outbox = await openOutbox(database);
    await add(outbox, { topic: "order.paid", key: "a", id: "a1" }, { topic: "order.paid", key: "a", id: "a2" });
    let release: (() => void) | undefined;
    const asleep = new Promise<void>((resolve) => {
      release = resolve;
    });
    const sleepy = wire(async () => {
      await asleep;
      return rejected("too late");
    });
    // Long enough to begin something under it on a slow machine.
    const leaseMs = 2_000;
    const first = relayOf(outbox, sleepy, { leaseMs });
    const ticking = first.relay.tick().catch((error: unknown) => error);
    await eventually(async () => {
      expect(sleepy.calls).toHaveLength(1);
    });
    await pause(leaseMs + 100);
    const second = relayOf(outbox, wire(), { leaseMs: 5_000 });
    await eventually(async () => {
      await second.relay.tick();
      expect(idsOf(second.publisher.sent)).toEqual(["a1", "a2"]);
    }, 30_000);
    release?.();
    expect(await ticking).toMatchObject({ name: "SessionLost" });
    expect(first.events.some(({ type }) => type === "session-lost")).toBe(true);
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0, parked: 0 });
    await first.relay.stop();
    await second.relay.stop();
  });

  it("what was sent but could not be marked is marked later and not sent again while the relay lives", async () => {
    const database = open();
    const outbox = await openOutbox(database);
    await add(outbox, { topic: "order.paid", key: "a", id: "a1" });
    const publisher = wire(async () => {
      // Somebody else ends the session while the event is on its way.
      await database.query(`DELETE FROM ${outbox.tablePrefix}outbox_relays WHERE 1 = 1`);
      return { outcome: "sent" };
    });
    const { relay, events } = relayOf(outbox, publisher);
    await expect(relay.tick()).rejects.toMatchObject({ name: "SessionLost" });
    expect(relay.health().unmarked).toBe(1);
    await relay.tick();
    await relay.stop();
    expect(publisher.calls).toHaveLength(1);
    expect(events.some(({ type }) => type === "session-lost")).toBe(true);
    expect(await outbox.stats()).toMatchObject({ pending: 0 });
  });

  it("stop gives everything back: another relay has all lanes at once", async () => {
    const outbox = await openOutbox(open());
    const first = relayOf(outbox, wire(), { leaseMs: 60_000 });
    await first.relay.start();
    await add(outbox, { topic: "order.paid", key: "a", id: "a1" });
    await eventually(async () => {
      expect(first.publisher.sent).toHaveLength(1);
    });
    await first.relay.stop();
    const second = relayOf(outbox, wire(), { leaseMs: 60_000 });
    await second.relay.start();
    await expect(second.relay.tick()).rejects.toThrow(/tick\(\) is for a relay that was not started/);
    expect(second.relay.health().lanes).toBe(64);
    await second.relay.stop();
  });
});
