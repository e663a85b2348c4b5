/**
 * Failures that outboxes and relays are known for, each as a test on real databases. Those that other suites prove are
 * listed with them in docs/reference/events-failures.md.
 */
import { fromPg } from "ichido/transactions";
import { createOutbox, createRelay, type Outbox, type RelayOptions } from "ichido/outbox";
import { fakeClock } from "ichido/testing";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { systemEnvironment } from "../../packages/ichido/src/core/contract/environment.ts";
import { openSide } from "../effects/sides.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase } from "../support/services.ts";
import { forEachDatabase, type Database } from "./inbox-databases.ts";
import { idsOf, openOutbox, rejected, unavailable, wire } from "./outbox-bed.ts";

type Bed = Outbox & { readonly tablePrefix: string };
type Wish = { topic?: string; key?: string; id: string };

async function add(outbox: Bed, ...wishes: readonly Wish[]): Promise<void> {
  await outbox.transaction(async (_tx, handle) => {
    for (const wish of wishes) await outbox.add(handle, { topic: "order.paid", payload: { of: wish.id }, ...wish });
  });
}

function relayOf(outbox: Bed, publisher = wire(), options: Partial<RelayOptions> = {}) {
  const relay = createRelay(outbox, {
    routes: { wire: publisher, other: wire() },
    backoffMs: 1,
    backoffMsMax: 1,
    pauseMs: 1,
    pauseMsMax: 1,
    ...options,
  });
  onTestFinished(() => relay.stop({ drainMs: 0 }));
  return { relay, publisher };
}

/** Long enough to begin something under it on a slow machine. */
const leaseMs = 2_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** By a rule of chance that is the same in every run. */
function shuffled(numbers: readonly number[]): number[] {
  return numbers
    .map((number) => ({ number, at: (number * 7919 + 13) % 1009 }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ number }) => number);
}

forEachDatabase("failure table", (open) => {
  test("W4 events leave in the order of their numbers, wherever their rows lie", async () => {
    const database = open();
    const outbox = await openOutbox(database);
    await add(outbox, ...range(120).map((at) => ({ key: `k${at}`, id: `e${at}` })));
    // Each update writes the row anew: on PostgreSQL at the end of the heap.
    for (const at of shuffled(range(120)))
      await database.query(`UPDATE ${outbox.tablePrefix}outbox SET last_error = 'moved' WHERE id = 'e${at}'`);
    const { relay, publisher } = relayOf(outbox, wire(), { batch: 50, concurrency: 1 });
    while ((await relay.tick()).more);
    expect(idsOf(publisher.calls)).toEqual(range(120).map((at) => `e${at}`));
  });

  test("W5 a parked key with more events than a batch costs other keys nothing", async () => {
    const outbox = await openOutbox(open(), { topics: { "order.*": { to: "wire", attemptsMax: 1 } } });
    await add(outbox, { key: "stuck", id: "s0" });
    const publisher = wire((message) => (message.id === "s0" ? rejected() : { outcome: "sent" }));
    const { relay } = relayOf(outbox, publisher, { batch: 10 });
    await relay.tick();
    await add(outbox, ...range(30).map((at) => ({ key: "stuck", id: `s${at + 1}` })));
    await add(outbox, { key: "free", id: "f0" }, { key: "other", id: "o0" });
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["f0", "o0"]);
    expect(await outbox.stats()).toMatchObject({ pending: 30, dead: 1, parked: 1 });
  });

  test("W6 an event whose relay vanished during the last permitted attempt still comes to an end", async () => {
    const outbox = await openOutbox(open(), { topics: { "order.*": { to: "wire", attemptsMax: 2 } } });
    await add(outbox, { key: "a", id: "a0" });
    const refusing = relayOf(
      outbox,
      wire(() => rejected("first refusal")),
    );
    expect(await refusing.relay.tick()).toMatchObject({ rejected: 1 });
    await refusing.relay.stop();
    const vanishing = wire(() => new Promise(() => {}));
    const vanished = createRelay(outbox, { routes: { wire: vanishing }, leaseMs });
    await pause(5);
    void vanished.tick().catch(() => undefined);
    await eventually(() => expect(vanishing.calls).toHaveLength(1));
    await pause(leaseMs + 100);
    const last = relayOf(
      outbox,
      wire(() => rejected("second refusal")),
    );
    await eventually(async () => {
      await last.relay.tick();
      expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 1 });
    });
    expect((await outbox.dead.list()).letters).toMatchObject([{ reason: "rejected", attempts: 2 }]);
  });

  test("W6 one transport fault with a single permitted attempt is no attempt: the event is sent afterwards", async () => {
    const outbox = await openOutbox(open(), { topics: { "order.*": { to: "wire", attemptsMax: 1 } } });
    await add(outbox, { key: "a", id: "a0" });
    let down = true;
    const { relay, publisher } = relayOf(
      outbox,
      wire(() => (down ? unavailable("503") : { outcome: "sent" })),
    );
    await relay.tick();
    down = false;
    await eventually(async () => {
      await relay.tick();
      expect(idsOf(publisher.sent)).toEqual(["a0"]);
    });
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0 });
  });

  test("W7 a late success of a relay that lost its lease does not undo a dead letter", async () => {
    const outbox = await openOutbox(open(), { topics: { "order.*": { to: "wire", attemptsMax: 1 } } });
    await add(outbox, { key: "a", id: "a0" });
    const { promise: asleep, resolve: wake } = Promise.withResolvers<void>();
    const late = relayOf(
      outbox,
      wire(async () => {
        await asleep;
        return { outcome: "sent" };
      }),
      { leaseMs },
    );
    const ticking = late.relay.tick().catch((error: unknown) => error);
    await eventually(() => expect(late.publisher.calls).toHaveLength(1));
    await pause(leaseMs + 100);
    const { relay } = relayOf(
      outbox,
      wire(() => rejected("refused for good")),
    );
    await eventually(async () => {
      await relay.tick();
      expect(await outbox.stats()).toMatchObject({ dead: 1 });
    });
    wake();
    expect(await ticking).toMatchObject({ name: "SessionLost" });
    await late.relay.tick();
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 1, parked: 1 });
    expect((await outbox.dead.list()).letters).toMatchObject([
      { reason: "rejected", error: "Error: refused for good" },
    ]);
  });

  test("W10 keys and ids that differ in case, accents or a trailing space are different ones", async () => {
    const outbox = await openOutbox(open(), { topics: { "order.*": { to: "wire", attemptsMax: 1 } } });
    const twins = [
      ["AbC", "aBc"],
      ["résumé", "resume"],
      ["k", "k "],
    ] as const;
    const publisher = wire((message) => (message.id.startsWith("Bad") ? rejected() : { outcome: "sent" }));
    const { relay } = relayOf(outbox, publisher);
    for (const [at, [one]] of twins.entries()) await add(outbox, { key: one, id: `Bad${at}` });
    await relay.tick();
    expect(await outbox.stats()).toMatchObject({ dead: 3, parked: 3 });
    // Also ids: these differ from the refused ones in case only.
    for (const [at, [, other]] of twins.entries()) await add(outbox, { key: other, id: `bAD${at}` });
    for (const [at, [one]] of twins.entries()) await add(outbox, { key: one, id: `behind${at}` });
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["bAD0", "bAD1", "bAD2"]);
    expect((await outbox.parked()).map(({ key }) => key).toSorted()).toEqual(twins.map(([one]) => one).toSorted());
  });

  test("W16 a failing head waits longer each time, nobody passes it, and the policy says what then happens", async () => {
    const database = open();
    const outbox = await openOutbox(database, {
      topics: { "order.*": { to: "wire", attemptsMax: 5 }, "skip.*": { to: "wire", attemptsMax: 5, onDead: "skip" } },
    });
    await add(outbox, { key: "a", id: "a0" }, { key: "a", id: "a1" });
    await add(outbox, { topic: "skip.it", key: "b", id: "b0" }, { topic: "skip.it", key: "b", id: "b1" });
    const publisher = wire((message) => (message.id.endsWith("0") ? rejected() : { outcome: "sent" }));
    // The longest pause that chance allows, so that their growth shows.
    const environment = { ...systemEnvironment, randomBytes: (length: number) => new Uint8Array(length).fill(255) };
    const { relay } = relayOf(outbox, publisher, { backoffMs: 40_000, backoffMsMax: 10_000_000, environment });
    const now = {
      postgres: "(extract(epoch from clock_timestamp()) * 1000)::bigint",
      mysql: "cast(unix_timestamp(now(3)) * 1000 as signed)",
      sqlite: "cast(unixepoch('subsec') * 1000 as integer)",
    };
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await relay.tick();
      await relay.tick();
      const waits = await database.query(
        `SELECT until_ms - ${now[database.dialect]} AS left_ms FROM ${outbox.tablePrefix}outbox_parked`,
      );
      expect(waits).toHaveLength(2);
      for (const row of waits) {
        const longest = 40_000 * 2 ** (attempt - 1);
        expect(Number(row["left_ms"])).toBeGreaterThan(longest / 2);
        expect(Number(row["left_ms"])).toBeLessThanOrEqual(longest);
      }
      expect(idsOf(publisher.sent)).toEqual([]);
      await database.query(`UPDATE ${outbox.tablePrefix}outbox_parked SET until_ms = 0`);
    }
    await relay.tick();
    await relay.tick();
    expect(idsOf(publisher.sent), "skip lets the next one pass, park-key does not").toEqual(["b1"]);
    expect(publisher.calls.filter(({ id }) => id === "a0")).toHaveLength(5);
    expect(await outbox.stats()).toMatchObject({ pending: 1, dead: 2, parked: 1 });
  });

  test("W22 a failing event has one owner: two relays together make no more attempts than are permitted", async () => {
    const outbox = await openOutbox(open(), { topics: { "order.*": { to: "wire", attemptsMax: 4 } } });
    const publisher = wire(async () => {
      await pause(5);
      return rejected();
    });
    const settings = { leaseMs: 5_000, idleMs: 5, idleMsMax: 20 } as const;
    const [one, other] = [relayOf(outbox, publisher, settings), relayOf(outbox, publisher, settings)];
    await one.relay.start();
    await other.relay.start();
    await add(outbox, ...range(8).map((at) => ({ key: `k${at}`, id: `e${at}` })));
    await eventually(async () => expect(await outbox.stats()).toMatchObject({ dead: 8 }), 30_000);
    for (const at of range(8)) expect(publisher.calls.filter(({ id }) => id === `e${at}`)).toHaveLength(4);
  });

  test("W20 while a relay's turn is open in its transaction, a producer's insert is not blocked", async (context) => {
    const database = open();
    if (database.dialect === "sqlite") context.skip("SQLite has one writer at a time");
    const outbox = await openOutbox(database);
    await add(outbox, { key: "a", id: "a0" });
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const plain = database.side().runner;
    let held = false;
    // Through `run` alone, where the turn can be held open.
    const slow: typeof plain = {
      dialect: plain.dialect,
      run: (fn) =>
        plain.run(async (tx, handle) => {
          const value = await fn(tx, handle);
          if (held || !Array.isArray(value) || value.length === 0) return value;
          // It has read up to the end of the index and renewed its session; nothing is committed yet.
          held = true;
          reach();
          await released;
          return value;
        }),
    };
    const holding = createOutbox({
      transactions: slow,
      source: "/shop",
      topics: { "order.*": { to: "wire" } },
      tablePrefix: outbox.tablePrefix,
    });
    const { relay, publisher } = relayOf(holding as Bed);
    const ticking = relay.tick();
    await reached;
    const begunMs = performance.now();
    await add(outbox, { key: "a", id: "a1" }, { key: "z", id: "z0" });
    // Blocked, it would wait for the turn, which waits for it: any lock would end in the server's timeout.
    expect(performance.now() - begunMs).toBeLessThan(40_000);
    release();
    await ticking;
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["a0", "a1", "z0"]);
  });
});

describeWith("postgres", "failure table, PostgreSQL alone", (server) => {
  async function bedOn(url: string, options: Parameters<typeof openOutbox>[1] = {}): Promise<Bed> {
    const side = openSide("postgres", url);
    onTestFinished(() => side.close());
    return openOutbox({ side: () => side } as unknown as Database, options);
  }

  test("W8 a handle that is not in a transaction is refused, and nothing is written", async () => {
    await using database = await freshDatabase(server);
    const outbox = await bedOn(database.url);
    const client = new Client({ connectionString: database.url });
    client.on("error", () => {});
    await client.connect();
    // The server's word on its state comes with the first answer.
    await client.query("SELECT 1");
    await expect(outbox.add(fromPg(client), { topic: "order.paid", payload: 1 })).rejects.toThrow(/transaction/);
    expect(await outbox.stats()).toMatchObject({ pending: 0 });
    await client.end();
  });

  test("W18 a transaction that stays open in another database of the server holds nothing back", async () => {
    await using database = await freshDatabase(server);
    await using neighbour = await freshDatabase(server);
    const idle = new Client({ connectionString: neighbour.url });
    idle.on("error", () => {});
    await idle.connect();
    await idle.query("BEGIN");
    await idle.query("SELECT txid_current()");
    const outbox = await bedOn(database.url);
    await add(outbox, { key: "a", id: "a0" }, { key: "a", id: "a1" });
    const { relay, publisher } = relayOf(outbox);
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["a0", "a1"]);
    await idle.end();
  });

  test("W25 a broker that is away for thirty minutes makes no dead letter and costs no attempt", async () => {
    await using database = await freshDatabase(server);
    const outbox = await bedOn(database.url, { topics: { "order.*": { to: "wire", attemptsMax: 1 } } });
    await add(outbox, ...range(20).map((at) => ({ key: `k${at % 5}`, id: `e${at}` })));
    const clock = fakeClock();
    let down = true;
    const publisher = wire(() => (down ? unavailable("ECONNREFUSED") : { outcome: "sent" }));
    const relay = createRelay(outbox, { routes: { wire: publisher }, environment: clock.environment });
    onTestFinished(() => relay.stop({ drainMs: 0 }));
    const outageMs = 30 * 60_000;
    while (clock.environment.monotonicMs() < outageMs) {
      await relay.tick();
      await clock.advance(12_000);
    }
    expect(publisher.calls.length, "it was tried again and again").toBeGreaterThan(100);
    expect(await outbox.stats()).toMatchObject({ pending: 20, dead: 0, parked: 0 });
    down = false;
    await relay.tick();
    expect(publisher.sent).toHaveLength(20);
    for (const key of range(5).map((at) => `k${at}`))
      expect(idsOf(publisher.sent.filter((message) => message.key === key))).toEqual(
        range(20)
          .filter((at) => `k${at % 5}` === key)
          .map((at) => `e${at}`),
      );
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0 });
  });
});
