/** A relay that polls once a minute is woken by a commit in another process. */
import { createOutbox, createRelay, pgWake, postgresJsWake } from "ichido/outbox";
import { pgTransactions, postgresTransactions } from "ichido/transactions";
import { Pool } from "pg";
import postgres from "postgres";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase } from "../support/services.ts";
import { wire } from "./outbox-bed.ts";

const topics = { "*": { to: "wire" } };
const slow = { idleMs: 60_000, idleMsMax: 60_000, leaseMs: 300_000 } as const;

describeWith("postgres", "wake-up between processes", (server) => {
  it("pg: a commit elsewhere is noticed at once, also after the listening connection was cut", async () => {
    const database = await freshDatabase(server);
    const pools = [1, 2].map(() => new Pool({ connectionString: database.url, max: 4 }));
    const [reader, writer] = pools.map((pool) => {
      pool.on("error", () => {});
      return createOutbox({ transactions: pgTransactions(pool), source: "/t", topics, wake: pgWake(pool) });
    });
    await reader?.migrate();
    const publisher = wire();
    const relay = createRelay(reader!, { routes: { wire: publisher }, ...slow });
    await relay.start();
    const add = (id: string) =>
      writer!.transaction((_tx, handle) => writer!.add(handle, { topic: "order.paid", payload: 1, id }));
    await eventually(async () => {
      const { rows } = await pools[1]!.query("select 1 from pg_stat_activity where query = 'listen ichido_outbox'");
      expect(rows).toHaveLength(1);
    });
    await add("one");
    await eventually(async () => {
      expect(publisher.sent).toHaveLength(1);
    });
    await pools[1]!.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen ichido_outbox'",
    );
    await add("two");
    await eventually(async () => {
      expect(publisher.sent).toHaveLength(2);
    });
    await relay.stop();
    for (const pool of pools) await pool.end();
    await database.drop();
  });

  it("postgres: a commit elsewhere is noticed at once", async () => {
    const database = await freshDatabase(server);
    const clients = [1, 2].map(() => postgres(database.url, { max: 4, onnotice: () => {} }));
    const [reader, writer] = clients.map((sql) =>
      createOutbox({ transactions: postgresTransactions(sql), source: "/t", topics, wake: postgresJsWake(sql) }),
    );
    await reader?.migrate();
    const publisher = wire();
    const relay = createRelay(reader!, { routes: { wire: publisher }, ...slow });
    await relay.start();
    await eventually(async () => {
      const rows = await clients[1]!`select 1 from pg_stat_activity where query ilike 'listen%'`;
      expect(rows.length).toBeGreaterThan(0);
    });
    await writer!.transaction((_tx, handle) => writer!.add(handle, { topic: "order.paid", payload: 1 }));
    await eventually(async () => {
      expect(publisher.sent).toHaveLength(1);
    });
    await relay.stop();
    for (const sql of clients) await sql.end();
    await database.drop();
  });
});
