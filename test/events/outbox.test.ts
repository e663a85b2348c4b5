/** What `add` promises, on every database. */
import { createOutbox } from "ichido/outbox";
import { payloadOf } from "ichido/outbox";
import { createRelay } from "ichido/outbox";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { idsOf, openOutbox, rejected, wire } from "./outbox-bed.ts";

const relayOf = (outbox: Parameters<typeof createRelay>[0], publisher = wire(), other = wire()) =>
  createRelay(outbox, { routes: { wire: publisher, other } });

forEachDatabase("outbox", (open) => {
  it.each([
    ["at once", false],
    ["at commit", true],
  ])("an event that is added %s commits with the business write and is gone with its rollback", async (_, atCommit) => {
    const outbox = await openOutbox(open());
    await outbox.transaction(async (_tx, handle) => {
      await outbox.add(handle, { topic: "order.paid", key: "o1", payload: { order: 1 }, id: "kept" }, { atCommit });
    });
    await expect(
      outbox.transaction(async (_tx, handle) => {
        await outbox.add(handle, { topic: "order.paid", key: "o1", payload: { order: 2 }, id: "gone" }, { atCommit });
        throw new Error("changed my mind");
      }),
    ).rejects.toThrow("changed my mind");
    const publisher = wire();
    const relay = relayOf(outbox, publisher);
    expect(await relay.tick()).toMatchObject({ sent: 1, more: false });
    expect(await relay.tick()).toMatchObject({ sent: 0 });
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["kept"]);
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0, parked: 0, relays: 0 });
  });

  it("events that are added at commit keep their order, before those added after them, and their payloads", async () => {
    const outbox = await openOutbox(open());
    const scratch = new Uint8Array(1);
    await outbox.transaction(async (_tx, handle) => {
      for (const [at, id] of ["a", "b", "c"].entries()) {
        scratch[0] = at;
        await outbox.add(handle, { topic: "order.paid", key: "o1", payload: scratch, id }, { atCommit: at < 2 });
      }
    });
    const publisher = wire();
    const relay = relayOf(outbox, publisher);
    for (let ticks = 0; ticks < 3; ticks += 1) await relay.tick();
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["a", "b", "c"]);
    expect(publisher.sent.map(({ payload }) => payload[0])).toEqual([0, 1, 2]);
  });

  it("every part of an event arrives as it was given, the payload byte for byte", async () => {
    const outbox = await openOutbox(open(), { trace: () => ({ traceparent: "00-aa-bb-01" }) });
    const key = "résumé é k ";
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    await outbox.transaction(async (_tx, handle) => {
      await outbox.add(handle, {
        topic: "order.paid",
        key,
        payload: { name: "日本", nested: [1, null] },
        headers: { "X-Kind": "größe" },
        correlationId: "c1",
        causationId: "e0",
      });
      await outbox.add(handle, {
        topic: "mail.sent",
        payload: bytes,
        contentType: "image/png",
        traceparent: "00-cc-dd-01",
      });
    });
    const publisher = wire();
    const relay = relayOf(outbox, publisher);
    await relay.tick();
    await relay.stop();
    const [order, mail] = publisher.sent;
    expect(order).toMatchObject({
      topic: "order.paid",
      key,
      source: "/shop",
      contentType: "application/json",
      correlationId: "c1",
      causationId: "e0",
      traceparent: "00-aa-bb-01",
      headers: { "x-kind": "größe" },
    });
    expect(order?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(Date.parse(order?.time ?? "")).toBeGreaterThan(0);
    expect(order && payloadOf(order)).toEqual({ name: "日本", nested: [1, null] });
    expect(mail && [...mail.payload]).toEqual([...bytes]);
    expect(mail).toMatchObject({ contentType: "image/png", traceparent: "00-cc-dd-01" });
  });

  it("a delay holds an event back by the database's clock", async () => {
    const outbox = await openOutbox(open());
    await outbox.transaction(async (_tx, handle) => {
      await outbox.add(handle, { topic: "order.late", key: "k", payload: 1, delayMs: 4_000, id: "late" });
      await outbox.add(handle, { topic: "order.soon", key: "k", payload: 2, id: "soon" });
    });
    const publisher = wire();
    const relay = relayOf(outbox, publisher);
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["soon"]);
    await eventually(async () => {
      await relay.tick();
      expect(idsOf(publisher.sent)).toEqual(["soon", "late"]);
    }, 20_000);
    await relay.stop();
  });

  it("a bad event is refused by name and nothing is written", async () => {
    const outbox = await openOutbox(open(), { payloadBytesMax: 10 });
    const refused: readonly [object, RegExp][] = [
      [{ topic: "order paid", payload: 1 }, /topic must be dot-separated/],
      [{ topic: "order.paid", key: "", payload: 1 }, /key must be a well-formed text/],
      [{ topic: "order.paid", payload: "a".repeat(20) }, /payload has 22 bytes, more than payloadBytesMax \(10\)/],
      [{ topic: "order.paid", payload: { at: new Date() } }, /cannot be stored/],
      [{ topic: "order.paid" }, /payload is undefined; give null/],
      [{ topic: "order.paid", payload: undefined }, /payload is undefined; give null/],
      [{ topic: "order.paid", payload: 1, id: "a b" }, /id must be 1 to 255 printable/],
      [{ topic: "order.paid", payload: 1, headers: { "ce-id": "x" } }, /header ce-id is set by ichido/],
      [{ topic: "order.paid", payload: 1, delayMs: -1 }, /delayMs must be/],
    ];
    for (const [message, text] of refused) {
      await expect(
        outbox.transaction(async (_tx, handle) => {
          await outbox.add(handle, message as never);
        }),
      ).rejects.toThrow(text);
    }
    expect(await outbox.stats()).toMatchObject({ pending: 0 });
  });

  it("with strict, two writers of one key commit in the order in which they added", async () => {
    const database = open();
    const outbox = await openOutbox(database, { strict: true });
    const order: string[] = [];
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let added: (() => void) | undefined;
    const firstAdded = new Promise<void>((resolve) => {
      added = resolve;
    });
    const first = outbox.transaction(async (_tx, handle) => {
      await outbox.add(handle, { topic: "order.paid", key: "k", payload: 1, id: "first" });
      added?.();
      await held;
      order.push("first");
    });
    await firstAdded;
    const second = outbox.transaction(async (_tx, handle) => {
      await outbox.add(handle, { topic: "order.paid", key: "k", payload: 2, id: "second" });
      order.push("second");
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    release?.();
    await Promise.all([first, second]);
    expect(order).toEqual(["first", "second"]);
  });

  it("with strict, what was needed to lock keys is swept, but nothing that somebody writes under", async (context) => {
    const database = open();
    if (database.dialect !== "mysql") context.skip("strict locks without rows here");
    const outbox = await openOutbox(database, { strict: true });
    const addUnder = async (...keys: readonly string[]) =>
      outbox.transaction(async (_tx, handle) => {
        for (const key of keys) await outbox.add(handle, { topic: "order.paid", key, payload: 1 });
      });
    const keysLeft = async () =>
      Number((await database.query(`SELECT count(*) AS n FROM ${outbox.tablePrefix}outbox_keys`))[0]?.["n"]);
    const old = Array.from({ length: 30 }, (_, at) => `old-${at}`);
    const age = () => database.query(`UPDATE ${outbox.tablePrefix}outbox_keys SET used_ms = 0`);
    await addUnder(...old);
    await age();
    expect(await outbox.sweep({ limit: 20, budgetMs: 60_000 })).toEqual({ deleted: 20, more: true });
    await addUnder(...old);
    await age();
    await addUnder("new-1", "new-2");
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const writing = outbox.transaction(async (_tx, handle) => {
      await outbox.add(handle, { topic: "order.paid", key: "old-7", payload: 2 });
      reach();
      await released;
    });
    await reached;
    expect(await outbox.sweep({ budgetMs: 60_000 })).toEqual({ deleted: 29, more: false });
    release();
    await writing;
    expect(await keysLeft()).toBe(3);
    expect(await outbox.sweep({ budgetMs: 60_000 })).toEqual({ deleted: 0, more: false });
  });

  it("tables that are missing are said to be, with what to do", async () => {
    const outbox = createOutbox({
      transactions: open().side().runner,
      source: "/shop",
      topics: { "*": { to: "wire" } },
      tablePrefix: "nowhere_",
    });
    await expect(createRelay(outbox, { routes: { wire: wire() } }).tick()).rejects.toThrow(/outbox\.migrate\(\)/);
    const missing = { code: "schema-missing", message: expect.stringContaining("call outbox.migrate()") };
    const adding = (options: object) =>
      outbox.transaction((_tx, handle) => outbox.add(handle, { topic: "a", payload: 1 }, options));
    await expect(adding({})).rejects.toMatchObject(missing);
    await expect(adding({ atCommit: true })).rejects.toMatchObject(missing);
    await expect(outbox.stats()).rejects.toMatchObject(missing);
    await expect(outbox.parked()).rejects.toMatchObject(missing);
    await expect(outbox.dead.list()).rejects.toMatchObject(missing);
    await expect(outbox.sweep()).rejects.toMatchObject(missing);
  });

  it("sent events are remembered for keepSentMs and then swept", async () => {
    const outbox = await openOutbox(open(), { keepSentMs: 1 });
    await outbox.transaction(async (_tx, handle) => {
      for (let at = 0; at < 30; at += 1) await outbox.add(handle, { topic: "mail.x", payload: at });
    });
    const relay = relayOf(outbox);
    await relay.tick();
    await relay.stop();
    const [row] = await open().query(`SELECT count(*) AS n FROM ${outbox.tablePrefix}outbox_sent`);
    expect(Number(row?.["n"])).toBe(30);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await outbox.sweep({ limit: 20 })).toEqual({ deleted: 20, more: true });
    expect(await outbox.sweep()).toEqual({ deleted: 10, more: false });
  });

  it("letters are kept for keepDeadMs and then swept, but for one that a key waits for", async () => {
    const topics = {
      "order.*": { to: "wire", attemptsMax: 1 },
      "skip.*": { to: "wire", attemptsMax: 1, onDead: "skip" },
    } as const;
    const outbox = await openOutbox(open(), { topics, keepDeadMs: 60_000 });
    await outbox.transaction(async (_tx, handle) => {
      for (const topic of ["order.paid", "skip.paid"]) await outbox.add(handle, { topic, key: "k", payload: 1 });
    });
    const relay = createRelay(outbox, { routes: { wire: wire(() => rejected()) } });
    await relay.tick();
    await relay.stop();
    const left = async () => (await outbox.dead.list()).letters.map(({ message }) => message.topic);
    expect(await outbox.sweep()).toEqual({ deleted: 0, more: false });
    expect(await left()).toEqual(["order.paid", "skip.paid"]);
    await open().query(`UPDATE ${outbox.tablePrefix}outbox_dead SET dead_ms = dead_ms - 60001`);
    expect(await outbox.sweep()).toEqual({ deleted: 1, more: false });
    expect(await left()).toEqual(["order.paid"]);
    expect(await outbox.parked()).toMatchObject([{ topic: "order.paid", reason: "dead" }]);
  });
});

describe("outbox options", () => {
  const transactions = { dialect: "sqlite", run: async () => undefined } as never;
  it("are checked when it is made", () => {
    const make = (options: object) => () => createOutbox({ transactions, source: "/s", topics: {}, ...options });
    const runner = /^option transactions: expected what pgTransactions\(pool\) or its like/;
    for (const pool of [undefined, { connect: () => {}, query: () => {} }, { run: () => {} }])
      expect(make({ transactions: pool })).toThrow(runner);
    expect(make({ topics: undefined })).toThrow(/^option topics: expected an object of rules by topic/);
    expect(make({ topics: { a: undefined } })).toThrow(/^option topics\["a"\]: expected an object/);
    expect(() => createRelay(undefined as never, { routes: {} })).toThrow(/^option outbox: expected what createOutbox/);
    expect(make({ source: "" })).toThrow(/source: expected a URI reference/);
    expect(make({ tablePrefix: "a b" })).toThrow(/^option tablePrefix: expected/);
    expect(make({ payloadBytesMax: -1 })).toThrow(/payloadBytesMax: expected/);
    expect(make({ topics: { "a b": { to: "x" } } })).toThrow(/^option topics: expected a topic .*"a b"/);
    expect(make({ topics: { a: { to: "" } } })).toThrow(/\.to: expected the name of a route/);
    expect(make({ topics: { a: { to: "x", attemptsMax: 0 } } })).toThrow(/attemptsMax/);
    expect(make({ topics: { a: { to: "x", order: "no" } } })).toThrow(/order: expected/);
    expect(make({ topics: { a: { to: "x", orderedWith: "b c" } } })).toThrow(/orderedWith: expected the pattern/);
    expect(make({ topics: { a: { to: "x", order: "none", orderedWith: "b" } } })).toThrow(/orderedWith: a rule with/);
    expect(make({ topics: { a: { to: "x" }, b: { to: "y", orderedWith: "a" } } })).toThrow(
      /rules "a" and "b" keep one order \(orderedWith\), so they must have the same "to"/,
    );
  });
  it("what is no handle and what is no event is refused by name", async () => {
    const outbox = createOutbox({ transactions, source: "/s", topics: {} });
    const handle = { dialect: "sqlite", execute: async () => ({ rows: [], affected: 0 }) };
    for (const each of [undefined, null, "x", { query: () => {} }, { ...handle, dialect: "oracle" }])
      await expect(outbox.add(each as never, { topic: "a", payload: 1 })).rejects.toMatchObject({
        code: "usage-invalid",
        message: expect.stringContaining("outbox.add takes a handle first"),
      });
    for (const each of [undefined, null, "x"])
      await expect(outbox.add(handle as never, each as never)).rejects.toMatchObject({ code: "message-invalid" });
  });
  it("a route that nobody serves is refused when the relay is made", () => {
    const outbox = createOutbox({ transactions, source: "/s", topics: { a: { to: "x" } } });
    expect(() => createRelay(outbox, { routes: {} })).toThrow(/sends to "x", which is not among \[\]/);
    expect(() => createRelay(outbox, { routes: { x: wire() }, batch: 0 })).toThrow(/batch: expected/);
    expect(() => createRelay(outbox, { routes: { x: {} as never } })).toThrow(/routes\.x: expected a publisher/);
  });
});
