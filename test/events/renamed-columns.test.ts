/** Events and messages through libraries that rename columns: read rightly, or refused, never read as something else. */
import { createInbox } from "ichido/inbox";
import { createOutbox, createRelay, type Outbox } from "ichido/outbox";
import { knexTransactions, postgresTransactions, type TransactionRunner } from "ichido/transactions";
import knex from "knex";
import postgres from "postgres";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase, uniqueName } from "../support/services.ts";
import { message } from "./inbox-messages.ts";
import { wire } from "./outbox-bed.ts";

interface Library {
  readonly runner: TransactionRunner<unknown>;
  close(): Promise<unknown>;
}

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

function postgresJs(url: string): Library {
  const sql = postgres(url, { max: 2, onnotice: () => {}, transform: postgres.camel });
  return { runner: postgresTransactions(sql), close: () => sql.end({ timeout: 1 }) };
}

function knexRenaming(url: string, rename: (name: string) => string): Library {
  const renamed = (row: object): object =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [rename(name), value]));
  const db = knex({
    client: "pg",
    connection: url,
    pool: { min: 0, max: 2 },
    postProcessResponse: (answer: { rows?: object[] }) =>
      answer?.rows === undefined ? answer : { ...answer, rows: answer.rows.map(renamed) },
  });
  return { runner: knexTransactions(db), close: () => db.destroy() };
}

async function outboxOn({ runner }: Library): Promise<Outbox> {
  const prefix = `${uniqueName("o").replaceAll("-", "_").toLowerCase().slice(0, 26)}_`;
  const outbox = createOutbox({
    transactions: runner,
    tablePrefix: prefix,
    source: "/shop",
    topics: { "order.*": { to: "wire" } },
  });
  await outbox.migrate();
  for (const at of [1, 2, 3])
    await outbox.transaction((_tx, handle) =>
      outbox.add(handle, { topic: "order.paid", key: "k", id: `e${at}`, payload: { at } }),
    );
  return outbox;
}

describeWith("postgres", "renamed columns", (server) => {
  const within = async (open: (url: string) => Library, fn: (library: Library) => Promise<void>): Promise<void> => {
    const database = await freshDatabase(server);
    const library = open(database.url);
    try {
      await fn(library);
    } finally {
      await library.close();
      await database.drop();
    }
  };

  test.each([
    ["postgres.js with camel", postgresJs],
    ["knex with camel", (url: string) => knexRenaming(url, camel)],
  ] as const)("%s: events keep their key and their order, and the oldest has an age", (_name, open) =>
    within(open, async (library) => {
      const outbox = await outboxOn(library);
      await eventually(async () => expect((await outbox.stats()).oldestMs).toBeGreaterThan(0));
      let away = 0;
      const publisher = wire(async () => {
        away += 1;
        expect(away, "one of a key at a time").toBe(1);
        await new Promise(setImmediate);
        away -= 1;
        return { outcome: "sent" };
      });
      const relay = createRelay(outbox, { routes: { wire: publisher } });
      while ((await relay.tick()).more);
      await relay.stop();
      expect(publisher.sent.map(({ id, key }) => [id, key])).toEqual([
        ["e1", "k"],
        ["e2", "k"],
        ["e3", "k"],
      ]);

      const inbox = createInbox({ transactions: library.runner, retentionMs: 86_400_000 });
      await inbox.migrate();
      const one = message();
      const runOnce = (id = one): Promise<unknown> => inbox.runOnce(id, "stock", () => {});
      expect([await runOnce(), await runOnce(), await runOnce(message({ id: one.id, payload: 8 }))]).toEqual([
        { outcome: "processed" },
        { outcome: "duplicate" },
        { outcome: "conflict" },
      ]);
    }),
  );

  test("a library that hides columns for good is refused, and nothing is sent", () =>
    within(
      (url) => knexRenaming(url, (name) => (name === "key_hash" ? "hidden" : name)),
      async (library) => {
        const outbox = await outboxOn(library);
        const publisher = wire();
        const relay = createRelay(outbox, { routes: { wire: publisher } });
        await expect(relay.tick()).rejects.toThrow(/column key_hash is not in the row/);
        await relay.stop();
        expect(publisher.calls).toEqual([]);
      },
    ));
});
