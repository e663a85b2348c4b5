/** Relays that die, freeze or meet an event that ends them, in processes of their own. */
import { setTimeout as sleep } from "node:timers/promises";
import { createOutbox, createRelay, type Outbox, type RelayEvent } from "ichido/outbox";
import { spawnChild, type Child } from "ichido/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { addEffect } from "../effects/sides.ts";
import { eventually } from "../support/eventually.ts";
import { inOneFile } from "../support/in-one-file.ts";
import { uniqueName } from "../support/services.ts";
import { forEachDatabase, type Database } from "./inbox-databases.ts";
import { unavailable, wire } from "./outbox-bed.ts";
import { outboxOptions, relayOptions, type RelayLife } from "./relay-crash-settings.ts";

/** Processes take long to start where many do. */
const patienceMs = 120_000;
vi.setConfig({ testTimeout: 400_000 });

forEachDatabase("relays in trouble", (open) => {
  async function scene() {
    const database = open();
    await database.query("DELETE FROM effects");
    const side = database.side();
    const prefix = `${uniqueName("c").replaceAll("-", "_").toLowerCase().slice(0, 26)}_`;
    const outbox = createOutbox({ ...outboxOptions, transactions: side.runner, tablePrefix: prefix });
    await outbox.migrate();
    const life = async (told: RelayLife): Promise<Child> => {
      const child = await spawnChild(await inOneFile(new URL("./relay-crash.child.ts", import.meta.url)), {
        args: [database.dialect, database.url, prefix, JSON.stringify(told)],
      });
      onTestFinished(async () => void (await child.kill()));
      return child;
    };
    /** A relay of this process with the same broker. */
    const survivor = async (): Promise<readonly RelayEvent[]> => {
      const events: RelayEvent[] = [];
      const publisher = wire(async ({ id }) => {
        await side.runner.run((_tx, handle) => addEffect(handle, id));
        return { outcome: "sent" };
      });
      const relay = createRelay(outbox, {
        ...relayOptions,
        routes: { wire: publisher },
        onEvent: (event) => void events.push(event),
      });
      await relay.start();
      onTestFinished(() => relay.stop({ drainMs: 1_000 }));
      return events;
    };
    return { database, outbox, prefix, life, survivor };
  }

  /** `key.number`, so that the order of a key can be read off the ids. */
  async function add(outbox: Outbox, keys: readonly string[], each: number, from = 0): Promise<string[]> {
    const ids: string[] = [];
    await outbox.transaction(async (_tx, handle) => {
      for (let number = from; number < from + each; number += 1)
        for (const key of keys) {
          const { id } = await outbox.add(handle, {
            topic: "order.paid",
            key,
            payload: number,
            id: `${key}.${number}`,
          });
          ids.push(id);
        }
    });
    return ids;
  }

  const keysOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}`);

  async function wireOf(database: Database) {
    const all = await database.effects();
    const first = [...new Set(all)];
    const perKey = new Map<string, number[]>();
    for (const id of first) {
      const [key = "", number = ""] = id.split(".");
      perKey.set(key, [...(perKey.get(key) ?? []), Number(number)]);
    }
    const outOfOrder = [...perKey].filter(([, numbers]) =>
      numbers.some((number, at) => at > 0 && number < (numbers[at - 1] ?? 0)),
    );
    return { all, first, copies: all.length - first.length, outOfOrder };
  }

  test("W15 what a killed relay held is sent by another one after its lease, in order; copies stay within one window", async () => {
    const { database, outbox, life, survivor } = await scene();
    const ids = await add(outbox, keysOf(15), 6);
    const child = await life({ sendMs: 30 });
    await eventually(async () => expect((await database.effects()).length).toBeGreaterThan(15), patienceMs);
    await child.kill("SIGKILL");
    const before = await wireOf(database);
    expect(before.first.length, "in the middle of its work").toBeLessThan(ids.length);
    await survivor();
    await eventually(async () => expect((await outbox.stats()).pending).toBe(0), patienceMs);
    const { first, copies, outOfOrder } = await wireOf(database);
    expect(first.toSorted()).toEqual(ids.toSorted());
    expect(outOfOrder).toEqual([]);
    expect(copies).toBeLessThanOrEqual(relayOptions.batch);
    expect(await outbox.stats()).toMatchObject({ dead: 0, parked: 0 });
  });

  /** Starts one process after the other until one of them finds the event that ended the others. */
  async function untilQuarantined(outbox: Outbox, live: () => Promise<Child>) {
    let deaths = 0;
    const deadLetters = async () => (await outbox.dead.list()).letters;
    while (deaths < 10 && (await deadLetters()).length === 0) {
      const child = await live();
      await Promise.race([
        child.exited,
        eventually(async () => expect(await deadLetters()).toHaveLength(1), patienceMs),
      ]);
      if (child.exit?.signal === "SIGKILL") deaths += 1;
      else await child.kill();
      expect(child.lines.join("\n")).not.toMatch(/Error/);
    }
    return { deaths, deadLetters };
  }

  test("W14 an event that ends its process is quarantined after crashesMax with a note; every other one is sent", async () => {
    const { database, outbox, life, survivor } = await scene();
    const keys = keysOf(40);
    const ids = await add(outbox, keys, 2);
    const deadly = "k7.0";
    const { deaths, deadLetters } = await untilQuarantined(outbox, () =>
      life({ sendMs: 1, deadly, relay: { crashesMax: 5 } }),
    );
    expect(deaths).toBe(5);
    expect(await deadLetters()).toMatchObject([
      {
        message: { id: deadly },
        reason: "crashed",
        crashes: 5,
        attempts: 0,
        error: expect.stringMatching(/process ended while this event was being sent \(5 times\)/),
      },
    ]);
    const behind = ids.filter((id) => id.startsWith("k7."));
    const others = ids.filter((id) => !behind.includes(id));
    await survivor();
    await eventually(
      async () => expect((await wireOf(database)).first.toSorted()).toEqual(others.toSorted()),
      patienceMs,
    );
    expect((await wireOf(database)).outOfOrder).toEqual([]);
    expect(await outbox.parked()).toMatchObject([{ key: "k7", reason: "dead" }]);
    const [letter] = await deadLetters();
    expect(await outbox.dead.replay({ seq: letter?.seq ?? -1, actor: "ada", reason: "mended" })).toBe("ok");
    await eventually(async () => expect((await outbox.stats()).pending).toBe(0), patienceMs);
    expect((await database.effects()).slice(-2)).toEqual(["k7.0", "k7.1"]);
  });

  test("W14 the same without order: as many deaths as allowed, then every other event is sent", async () => {
    const { database, outbox, life, survivor } = await scene();
    const ids = Array.from({ length: 30 }, (_, at) => `mail.${at}`);
    await outbox.transaction(async (_tx, handle) => {
      for (const id of ids) await outbox.add(handle, { topic: "mail.due", payload: id, id });
    });
    const deadly = "mail.11";
    const told = { sendMs: 1, deadly, relay: { crashesMax: 4 } };
    const { deaths, deadLetters } = await untilQuarantined(outbox, () => life(told));
    expect(deaths).toBe(4);
    expect(await deadLetters()).toMatchObject([{ message: { id: deadly }, reason: "crashed", crashes: 4 }]);
    await survivor();
    await eventually(async () => expect((await outbox.stats()).pending).toBe(0), patienceMs);
    expect((await wireOf(database)).first.toSorted()).toEqual(ids.filter((id) => id !== deadly).toSorted());
  });

  test("W14 fifteen kills from outside at any moment quarantine nobody and lose nothing", async (context) => {
    if (open().dialect !== "postgres")
      context.skip("the same code on every database: fifteen processes on one of them");
    const { database, outbox, life, survivor } = await scene();
    const keys = keysOf(30);
    const ids: string[] = [];
    for (let kill = 0; kill < 15; kill += 1) {
      ids.push(...(await add(outbox, keys, 2, 2 * kill)));
      const child = await life({ sendMs: 3, relay: { leaseMs: 300 } });
      await child.waitFor(/^ready$/, patienceMs);
      await sleep(Math.random() * 400);
      await child.kill("SIGKILL");
    }
    await survivor();
    await eventually(async () => expect((await outbox.stats()).pending).toBe(0), patienceMs);
    const { first, outOfOrder } = await wireOf(database);
    expect(first.toSorted()).toEqual(ids.toSorted());
    expect(outOfOrder).toEqual([]);
    expect(await outbox.stats()).toMatchObject({ dead: 0, parked: 0 });
  });

  /** Freezes in its middle; another relay does the work; then it wakes. */
  async function freezing(freezes: NonNullable<RelayLife["freezes"]>) {
    const { database, outbox, life, survivor } = await scene();
    const ids = await add(outbox, keysOf(5), 8);
    const child = await life({ sendMs: 30, freezes, freezesAfter: 6 });
    await child.waitFor(/^frozen$/, patienceMs);
    await survivor();
    await eventually(async () => expect((await outbox.stats()).pending).toBe(0), patienceMs);
    const sending = (): string[] => child.lines.filter((line) => line.startsWith("sending"));
    const begun = sending().length;
    child.resume();
    await child.waitFor(/^event session-lost/, patienceMs);
    // As long again as it would need for all it held.
    await sleep(relayOptions.leaseMs);
    expect(sending().length, "nothing of what it held is begun").toBe(begun);
    const { first, copies, outOfOrder } = await wireOf(database);
    expect(first.toSorted()).toEqual(ids.toSorted());
    expect(outOfOrder).toEqual([]);
    expect(copies, "sent before it froze or on their way, and not marked").toBeLessThanOrEqual(relayOptions.batch);
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 0, parked: 0 });
    const more = await add(outbox, keysOf(5), 1, 8);
    await eventually(async () => expect(await database.effects()).toEqual(expect.arrayContaining(more)), patienceMs);
    expect((await wireOf(database)).outOfOrder).toEqual([]);
  }

  test("W7 W23 a process that was frozen past its lease finds itself fenced: it marks nothing, begins nothing of what it held, order holds", () =>
    freezing("outside"));

  test("W15 W23 a process that froze inside a transaction of the relay does not keep its lanes", async (context) => {
    if (open().dialect !== "postgres")
      context.skip("MySQL has no bound for one idle transaction; on SQLite such a process stops every writer");
    await freezing("inside");
  });

  test("W14 W25 a broker that is slower than the lease does not make crashes of its silence", async () => {
    const { database, outbox, prefix, survivor } = await scene();
    await add(outbox, ["a"], 1);
    await database.query(`UPDATE ${prefix}outbox SET crashes = 1 WHERE id = 'a.0'`);
    const slow = wire(async () => {
      await sleep(4 * relayOptions.leaseMs);
      return unavailable();
    });
    const relay = createRelay(outbox, { ...relayOptions, routes: { wire: slow } });
    await relay.start();
    onTestFinished(() => relay.stop({ drainMs: 0 }));
    await eventually(() => expect(slow.calls).toHaveLength(1));
    const events = await survivor();
    await sleep(3 * relayOptions.leaseMs);
    expect(events.filter(({ type }) => type === "session-ended")).toEqual([]);
    const [row] = await database.query(`SELECT crashes FROM ${prefix}outbox WHERE id = 'a.0'`);
    expect(Number(row?.["crashes"])).toBe(1);
  });
});
