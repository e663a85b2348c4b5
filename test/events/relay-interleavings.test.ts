/** What the relay promises when something happens in between: during a turn, a handover, a lost commit, a slow stop. */
import {
  createRelay,
  type EventMessage,
  type Outbox,
  type Published,
  type RelayEvent,
  type RelayOptions,
} from "ichido/outbox";
import type { TransactionHandle } from "ichido";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { forEachDatabase, type Database } from "./inbox-databases.ts";
import { idsOf, openOutbox, rejected, unavailable, wire } from "./outbox-bed.ts";

type Runner = ReturnType<Database["side"]>["runner"];

/** A runner whose transactions can be held, failed or lied to. */
function watched(runner: Runner) {
  const hooks = {
    inside: async (_value: unknown): Promise<void> => {},
    after: async (): Promise<void> => {},
    statement: (_sql: string): Awaited<ReturnType<TransactionHandle["execute"]>> | undefined => undefined,
  };
  const transactions: Runner = {
    dialect: runner.dialect,
    async run(fn, options) {
      const value = await runner.run(async (tx, handle) => {
        const made = await fn(tx, {
          dialect: handle.dialect,
          execute: async (sql, values) => hooks.statement(sql) ?? handle.execute(sql, values),
        });
        await hooks.inside(made);
        return made;
      }, options);
      await hooks.after();
      return value;
    },
  };
  return { hooks, transactions };
}

async function openWatched(database: Database, options: Parameters<typeof openOutbox>[1] = {}) {
  const outbox = await openOutbox(database, options);
  const { hooks, transactions } = watched(database.side().runner);
  const through = await openOutbox(database, { ...options, tablePrefix: outbox.tablePrefix, transactions });
  return { outbox, hooks, through };
}

function relayOf(outbox: Outbox, publisher = wire(), options: Partial<RelayOptions> = {}) {
  const events: RelayEvent[] = [];
  const routes = { wire: publisher, other: wire() };
  const relay = createRelay(outbox, {
    routes,
    backoffMs: 1,
    backoffMsMax: 1,
    pauseMs: 1,
    pauseMsMax: 1,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { relay, publisher, events };
}

async function add(outbox: Outbox, ...messages: readonly { topic: string; key?: string; id: string }[]) {
  await outbox.transaction(async (_tx, handle) => {
    for (const message of messages) await outbox.add(handle, { payload: message.id, ...message });
  });
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const paid = (id: string) => ({ topic: "order.paid", key: id.slice(0, 1), id });

function gate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

forEachDatabase("relay, in between", (open, dialect) => {
  it("an event that is read while the one before it is refused does not overtake it", async () => {
    const { outbox, hooks, through } = await openWatched(open());
    const refusal = gate();
    let refusals = 1;
    const publisher = wire(async ({ id }) => {
      if (id !== "a1" || refusals-- <= 0) return { outcome: "sent" };
      await refusal.opened;
      return rejected();
    });
    const { relay } = relayOf(through, publisher, { idleMs: 5, idleMsMax: 20 });
    await relay.start();
    await add(outbox, paid("a1"));
    await eventually(async () => expect(publisher.calls).toHaveLength(1));
    hooks.inside = async (value) => {
      if (!(JSON.stringify(value) ?? "").includes('"a2"')) return;
      refusal.open();
      await pause(20);
    };
    await add(outbox, paid("a2"));
    await eventually(async () => expect(publisher.sent).toHaveLength(2));
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["a1", "a2"]);
  });

  it.each<[string, Published]>([
    ["refused", rejected()],
    ["put off", { outcome: "later", error: new Error("soon"), delayMs: 0 }],
  ])("what waits behind an event that was %s stays behind where the wait ends within its turn", async (_, answer) => {
    const { outbox, hooks, through } = await openWatched(open());
    const verdict = gate();
    let others = 1;
    const publisher = wire(async ({ id }) => {
      if (id !== "a1" || others-- <= 0) return { outcome: "sent" };
      await verdict.opened;
      return answer;
    });
    // So small that a reading comes to its limit: the next turn writes what became of events, and reads on at once.
    const { relay } = relayOf(through, publisher, { batch: 8, idleMs: 5, idleMsMax: 20 });
    await relay.start();
    await add(outbox, paid("a1"));
    await eventually(async () => expect(publisher.calls).toHaveLength(1));
    hooks.inside = async (value) => {
      if ((JSON.stringify(value) ?? "").includes('"a2"')) verdict.open();
    };
    hooks.statement = (sql) => {
      if (/order by o\.seq/.test(sql)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      return undefined;
    };
    await add(outbox, ...["a2", "b1", "c1", "d1", "e1", "f1", "g1", "h1"].map(paid));
    await eventually(async () => expect(publisher.sent).toHaveLength(9));
    await relay.stop();
    expect(idsOf(publisher.sent).filter((id) => id.startsWith("a"))).toEqual(["a1", "a2"]);
  });

  // The other two have one time for a whole statement, whatever they are asked for.
  if (dialect === "postgres")
    it("a wait that ends while a reading is under way lets nothing pass the event that waits", async () => {
      const database = open();
      const outbox = await openOutbox(database);
      const { tablePrefix: prefix } = outbox;
      await add(outbox, paid("a1"), paid("a2"));
      // Whoever looks at the wait a second time does so after its end.
      await database.script(`
        ALTER TABLE ${prefix}outbox_parked RENAME TO ${prefix}waits;
        CREATE SEQUENCE ${prefix}looks;
        CREATE FUNCTION ${prefix}until(until_ms bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
          BEGIN
            IF nextval('${prefix}looks') > 1 THEN
              PERFORM pg_sleep(greatest(0, until_ms / 1000.0 - extract(epoch FROM clock_timestamp()) + 0.01));
            END IF;
            RETURN until_ms;
          END $$;
        CREATE VIEW ${prefix}outbox_parked AS
          SELECT key_hash, topic, message_key, seq, ${prefix}until(until_ms) AS until_ms FROM ${prefix}waits;
        INSERT INTO ${prefix}waits (key_hash, topic, message_key, seq, reason, last_error, since_ms, until_ms)
          SELECT key_hash, topic, message_key, seq, 'rejected', 'no', 0, extract(epoch FROM clock_timestamp()) * 1000 + 500
          FROM ${prefix}outbox WHERE id = 'a1'`);
      const { relay, publisher } = relayOf(outbox);
      await eventually(async () => {
        await relay.tick();
        expect(publisher.sent).toHaveLength(2);
      });
      await relay.stop();
      expect(idsOf(publisher.sent)).toEqual(["a1", "a2"]);
    });

  it("a refusal that arrives after its session was lost lets nothing of its key pass", async () => {
    const database = open();
    const outbox = await openOutbox(database);
    const refusal = gate();
    let refusals = 1;
    const publisher = wire(async ({ id }) => {
      if (id !== "a1" || refusals-- <= 0) return { outcome: "sent" };
      await refusal.opened;
      return rejected();
    });
    const { relay, events } = relayOf(outbox, publisher, { leaseMs: 300, idleMs: 5, idleMsMax: 20 });
    await add(outbox, paid("a1"), paid("a2"));
    await relay.start();
    await eventually(async () => expect(publisher.calls).toHaveLength(1));
    await database.query(`DELETE FROM ${outbox.tablePrefix}outbox_relays WHERE 1 = 1`);
    await eventually(async () => {
      expect(events.some(({ type }) => type === "session-lost")).toBe(true);
      expect(relay.health()).toMatchObject({ held: 2, inFlight: 1 });
    });
    refusal.open();
    await eventually(async () => expect(publisher.sent).toHaveLength(2));
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["a1", "a2"]);
  });

  it("a topic that is first seen during a pause does not overtake its key when the pause ends", async () => {
    const { outbox, hooks, through } = await openWatched(open());
    let faults = 1;
    const publisher = wire(() => (faults-- > 0 ? unavailable() : { outcome: "sent" }));
    const { relay } = relayOf(through, publisher, { pauseMs: 1_000, pauseMsMax: 1_000 });
    await add(outbox, paid("a1"));
    await relay.tick();
    await add(outbox, { ...paid("a2"), topic: "order.shipped" });
    hooks.inside = async (value) => {
      if ((JSON.stringify(value) ?? "").includes('"a2"') && publisher.sent.length === 0) await pause(1_100);
    };
    await eventually(async () => {
      await relay.tick();
      expect(publisher.sent).toHaveLength(2);
    });
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["a1", "a2"]);
  });

  it("a lane is not given away while what became of its events is unwritten", async () => {
    const { outbox, hooks, through } = await openWatched(open());
    const ids = Array.from({ length: 40 }, (_, at) => `k${at}`);
    await add(outbox, ...ids.map((id) => ({ topic: "order.paid", key: id, id })));
    const { relay, publisher } = relayOf(through);
    const other = relayOf(outbox);
    hooks.inside = async () => {
      if (publisher.sent.length > 0) throw new Error("the database is away");
    };
    await expect(relay.tick()).rejects.toThrow("the database is away");
    expect(publisher.sent).toHaveLength(40);
    hooks.inside = async () => {};
    await other.relay.tick();
    hooks.after = async () => {
      hooks.after = async () => {};
      await other.relay.tick();
    };
    await relay.tick();
    await other.relay.tick();
    expect(idsOf(other.publisher.calls)).toEqual([]);
    expect(await outbox.stats()).toMatchObject({ pending: 0 });
    await relay.stop();
    await other.relay.stop();
  });

  it("a lane that another session took after it was seen to be free is left alone", async () => {
    const { outbox, hooks, through } = await openWatched(open());
    const owner = relayOf(outbox);
    await owner.relay.tick();
    hooks.statement = (sql) => {
      if (!/outbox_lanes l\b/.test(sql)) return undefined;
      return { rows: Array.from({ length: 32 }, (_, lane) => ({ lane })), affected: 32 };
    };
    const { relay } = relayOf(through);
    await relay.tick();
    expect(relay.health().lanes).toBe(0);
    await owner.relay.stop();
    hooks.statement = () => undefined;
    await relay.tick();
    expect(relay.health().lanes).toBe(64);
    await relay.stop();
  });

  it("a dead letter that was decided about before its commit was known parks nothing again", async () => {
    const { outbox, hooks, through } = await openWatched(open(), {
      topics: { "order.*": { to: "wire", attemptsMax: 1 } },
    });
    await add(outbox, paid("a1"), paid("a2"));
    const publisher = wire(({ id }) => (id === "a1" ? rejected() : { outcome: "sent" }));
    const { relay } = relayOf(through, publisher);
    hooks.after = async () => {
      if (publisher.calls.length > 0) throw new Error("no answer to COMMIT");
    };
    await expect(relay.tick()).rejects.toThrow("no answer to COMMIT");
    hooks.after = async () => {};
    const [letter] = (await outbox.dead.list()).letters;
    await outbox.dead.discard({ seq: letter?.seq ?? 0, actor: "ada", reason: "of no use" });
    await relay.tick();
    await relay.tick();
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["a2"]);
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0, parked: 0 });
  });

  it("a row that is no event becomes a dead letter and keeps nobody else", async () => {
    const database = open();
    const outbox = await openOutbox(database);
    await add(outbox, paid("a1"), paid("a2"), paid("b1"));
    await database.query(`UPDATE ${outbox.tablePrefix}outbox SET envelope = 'none' WHERE id = 'a1'`);
    const { relay, publisher, events } = relayOf(outbox);
    await relay.tick();
    await relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["b1"]);
    expect(events).toContainEqual(expect.objectContaining({ type: "dead", id: "a1", reason: "unreadable" }));
    const [letter] = (await outbox.dead.list()).letters;
    expect(letter).toMatchObject({ message: { id: "a1", key: "a" }, reason: "unreadable" });
    await outbox.dead.discard({ seq: letter?.seq ?? 0, actor: "ada", reason: "of no use" });
    await relay.tick();
    await relay.stop();
    expect(idsOf(publisher.sent)).toEqual(["b1", "a2"]);
  });

  it("stop keeps its lease while a slow broker takes longer than that", async () => {
    const outbox = await openOutbox(open());
    const publisher = wire(async () => {
      await pause(1_200);
      return { outcome: "sent" };
    });
    const { relay, events } = relayOf(outbox, publisher, { leaseMs: 300 });
    const other = relayOf(outbox);
    await add(outbox, paid("a1"));
    await relay.start();
    await eventually(async () => expect(publisher.calls).toHaveLength(1));
    const stopped = relay.stop({ drainMs: 10_000 }).then(() => "stopped" as const);
    while ((await Promise.race([stopped, pause(50)])) !== "stopped") await other.relay.tick();
    await other.relay.tick();
    expect(idsOf(publisher.sent)).toEqual(["a1"]);
    expect(other.publisher.calls).toEqual([]);
    expect(events.filter(({ type }) => type === "session-lost" || type === "failed")).toEqual([]);
    expect(await outbox.stats()).toMatchObject({ pending: 0 });
    await other.relay.stop();
  });

  it("start, stop and tick may be called twice or at once", async () => {
    const outbox = await openOutbox(open());
    const publisher = wire(async () => {
      await pause(5);
      return { outcome: "sent" };
    });
    const { relay } = relayOf(outbox, publisher);
    await add(outbox, ...Array.from({ length: 20 }, (_, at) => paid(`${at % 5}-${at}`)));
    await Promise.all([relay.tick(), relay.tick(), pause(3).then(() => relay.tick())]);
    expect(publisher.calls).toHaveLength(20);
    await relay.stop();
    await Promise.all([relay.start(), relay.start()]);
    expect(await outbox.stats()).toMatchObject({ relays: 1, pending: 0 });
    await Promise.all([relay.stop(), relay.stop()]);
    await Promise.all([relay.start(), relay.stop()]);
    expect(await outbox.stats()).toMatchObject({ relays: 0 });
    expect(relay.health().running).toBe(false);
    await relay.start();
    await add(outbox, paid("b1"));
    await eventually(async () => expect(publisher.sent).toHaveLength(21));
    await relay.stop();
  });

  it("a listener that throws and a publisher that talks nonsense stop nobody", async () => {
    const outbox = await openOutbox(open());
    const nonsense = new Map<string, unknown>([
      ["b1", undefined],
      ["c1", { outcome: "later", error: new Error("soon"), delayMs: Number.NaN }],
      ["d1", { outcome: "later", error: new Error("soon"), delayMs: 1.5 }],
      ["e1", rejected()],
    ]);
    const publisher = wire();
    const talking = {
      ...publisher,
      async publish(message: EventMessage) {
        const said = nonsense.get(message.id);
        return nonsense.delete(message.id) ? (said as Published) : publisher.publish(message);
      },
    };
    const { relay } = relayOf(outbox, talking, {
      idleMs: 5,
      idleMsMax: 20,
      onEvent: () => {
        throw new Error("a listener's own trouble");
      },
    });
    await add(outbox, ...["a1", "b1", "c1", "d1", "e1", "e2"].map(paid));
    await relay.start();
    await eventually(async () => {
      expect(idsOf(publisher.sent).toSorted()).toEqual(["a1", "b1", "c1", "d1", "e1", "e2"]);
      expect(await outbox.stats()).toMatchObject({ pending: 0 });
    });
    await relay.stop();
  });
});
