/** People who decide about a relay's dead letter at once, on MariaDB, where the server undoes one of two that wait for each other. */
import { createRelay } from "ichido/outbox";
import { createConnection, type Connection, type RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { mariadbBench, type Bench } from "../effects/databases.ts";
import { describeWith } from "../support/services.ts";
import type { Database } from "./inbox-databases.ts";
import { openOutbox, rejected, wire } from "./outbox-bed.ts";

const patience = { timeout: 60_000, interval: 10 };
/** The server shows its transactions as they were until nobody has asked for a tenth of a second. */
const seldom = { timeout: 60_000, interval: 300 };

describeWith("mariadb", "a decision about a dead letter that the server undid", () => {
  let bench: Bench;
  let rival: Connection;
  let watcher: Connection;
  beforeAll(async () => {
    bench = await mariadbBench();
    rival = await createConnection({ uri: bench.url });
    watcher = await createConnection({ uri: bench.url });
    await rival.query("CREATE TABLE ballast (id int AUTO_INCREMENT PRIMARY KEY)");
  });
  afterAll(async () => {
    await rival?.end();
    await watcher?.end();
    await bench?.close();
  });

  test.each(["replay", "discard"] as const)("is made all the same: %s", async (action) => {
    const side = bench.side();
    const outbox = await openOutbox({ side: () => side } as unknown as Database, {
      topics: { "order.*": { to: "wire", attemptsMax: 1 } },
    });
    await side.runner.run((_tx, handle) => outbox.add(handle, { topic: "order.paid", key: "k", payload: {} }));
    const relay = createRelay(outbox, { routes: { wire: wire(() => rejected()) } });
    await relay.start();
    await vi.waitUntil(async () => (await outbox.dead.list()).letters.length === 1, patience);
    await relay.stop();
    const [letter] = (await outbox.dead.list()).letters;
    const seq = letter?.seq ?? 0;

    // The rival has written more, so that the server undoes the other one.
    const table = `${outbox.tablePrefix}outbox_dead`;
    await rival.query("BEGIN");
    await rival.query(`INSERT INTO ballast VALUES ${Array.from({ length: 200 }, () => "(null)").join()}`);
    const parked = `${outbox.tablePrefix}outbox_parked`;
    await rival.query(`SELECT seq FROM ${parked} FOR UPDATE`);
    const deciding = outbox.dead[action]({ seq, actor: "ann", reason: "fixed" });
    await vi.waitUntil(async () => {
      const [rows] = await watcher.query<RowDataPacket[]>(
        "SELECT trx_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE ?",
        [`%${parked}%`],
      );
      return rows.length > 0;
    }, seldom);
    await rival.query(`SELECT seq FROM ${table} WHERE seq = ? FOR UPDATE`, [seq]);
    await rival.query("ROLLBACK");
    expect(await deciding).toBe("ok");
    expect((await outbox.dead.audit(seq)).map((entry) => entry.action)).toEqual([action]);
    expect(await outbox.stats()).toMatchObject({ dead: 0, parked: 0, pending: action === "replay" ? 1 : 0 });
    await side.close();
  });
});
