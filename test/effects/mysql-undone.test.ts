/**
 * MySQL and MariaDB undo a whole transaction at a deadlock, and end one at DDL; what comes after would commit by itself. A
 * body that catches such an error and goes on must not be taken for one that took effect.
 */
import { createInbox } from "ichido/inbox";
import { fromMysql2, kyselyTransactions } from "ichido/transactions";
import { Kysely, MysqlDialect, sql } from "kysely";
import { createPool } from "mysql2";
import { createConnection } from "mysql2/promise";
import type { Connection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { message } from "../events/inbox-messages.ts";
import { describeWith, uniqueName } from "../support/services.ts";
import { caller } from "./callers.ts";
import { mariadbBench } from "./databases.ts";
import type { Bench, Side } from "./databases.ts";
import { onMariadb } from "./libraries.ts";
import type { Wrapped } from "./libraries.ts";

describeWith("mariadb", "transactions that the server has undone", () => {
  let bench: Bench;
  let side: Side;
  let rival: Connection;
  beforeAll(async () => {
    bench = await mariadbBench();
    side = bench.side();
    rival = await createConnection({ uri: bench.url });
    await rival.query("CREATE TABLE accounts (id int PRIMARY KEY, n int)");
    await rival.query("INSERT INTO accounts VALUES (1, 0), (2, 0)");
    await rival.query("CREATE TABLE ballast (id int AUTO_INCREMENT PRIMARY KEY)");
    await createInbox({ transactions: side.runner, retentionMs: 86_400_000 }).migrate();
  });
  afterAll(async () => {
    await rival?.end();
    await side?.close();
    await bench?.close();
  });

  type Say = (text: string) => Promise<unknown>;

  /** Has this transaction undone by the server: whichever of the two waits first, the rival has written more. */
  async function deadlock(say: Say): Promise<unknown> {
    await say("UPDATE accounts SET n = n + 1 WHERE id = 1");
    await rival.query("BEGIN");
    await rival.query(`INSERT INTO ballast VALUES ${Array.from({ length: 200 }, () => "(null)").join()}`);
    await rival.query("UPDATE accounts SET n = n + 1 WHERE id = 2");
    const blocked = rival.query("UPDATE accounts SET n = n + 1 WHERE id = 1");
    const caught = await say("UPDATE accounts SET n = n + 1 WHERE id = 2").catch((error: unknown) => error);
    await blocked;
    await rival.query("COMMIT");
    return caught;
  }

  const ways = {
    "a deadlock, caught": async (say: Say, name: string) => {
      expect(await deadlock(say)).toBeInstanceOf(Error);
      await say(`INSERT INTO effects (name) VALUES ('${name}')`);
    },
    "a deadlock, and whatever came of it, caught": async (say: Say, name: string) => {
      expect(await deadlock(say)).toBeInstanceOf(Error);
      await say(`INSERT INTO effects (name) VALUES ('${name}')`).catch(() => undefined);
    },
    "a table created": async (say: Say, name: string) => {
      await say("CREATE TABLE IF NOT EXISTS notes (a int)").catch(() => undefined);
      await say(`INSERT INTO effects (name) VALUES ('${name}')`).catch(() => undefined);
    },
  };

  test("R7 a handle on a transaction of the user's own writes nothing after its end", async () => {
    const connection = await createConnection({ uri: bench.url });
    await connection.beginTransaction();
    const handle = fromMysql2(connection);
    const add = (): Promise<unknown> =>
      handle.execute("INSERT INTO effects (name) VALUES (?)", ["by a handle of the user's own"]);
    await Promise.all([add(), add()]);
    expect(await deadlock((text) => connection.query(text))).toBeInstanceOf(Error);
    await expect(add()).rejects.toThrow(/not inside a transaction/);
    await connection.end();
    expect(await bench.effects("by a handle of the user's own")).toEqual([]);
  });

  test("R7 a connection serves on by itself where the server refused to watch its transaction", async () => {
    const pool = createPool({ uri: bench.url, connectionLimit: 1 });
    // Refused by the server itself, as a statement is that is killed.
    pool.on("connection", (connection) => {
      const query = connection.query.bind(connection) as (sql: unknown, ...rest: unknown[]) => unknown;
      const refused = "SIGNAL SQLSTATE '70100' SET MESSAGE_TEXT = 'Query execution was interrupted'";
      connection.query = ((sql: unknown, ...rest: unknown[]) =>
        query(sql === "SAVEPOINT ichido_whole" ? refused : sql, ...rest)) as never;
    });
    const db = new Kysely<unknown>({ dialect: new MysqlDialect({ pool }) });
    onTestFinished(() => db.destroy());
    const runner = kyselyTransactions(db, "mysql");
    await expect(runner.run(async () => expect.unreachable())).rejects.toThrow(/interrupted/);
    await sql.raw("INSERT INTO effects (name) VALUES ('after a refused watch')").execute(db);
    expect(await bench.effects("after a refused watch")).toHaveLength(1);
  });

  describe.each(Object.keys(onMariadb))("%s", (library) => {
    let wrapped: Wrapped;
    beforeAll(async () => {
      wrapped = (await onMariadb[library]?.(bench.url)) as Wrapped;
    });
    afterAll(() => wrapped?.close());

    const sayOn = (tx: unknown): Say => {
      const { say } = wrapped;
      if (say === undefined) throw new Error("this library says nothing");
      return (text) => say(tx, text);
    };
    // Sequelize gives its connection back at a deadlock, so nothing may be set on it; DDL is seen only in the end.
    const isUndone = (way: string): boolean => !(library === "sequelize" && way === "a table created");

    test.each(Object.entries(ways))("R7 ctx.transaction keeps no answer after %s", async (way, spoil) => {
      const shop = caller({ ...side, runner: wrapped.runner });
      const key = uniqueName("undone");
      const answer = await shop.ask(key, async (context) => {
        await context.transaction(async (tx, handle) => {
          await handle.execute("SELECT 1 AS outbox_or_guard", []);
          await spoil(sayOn(tx), key);
          return { status: 201, body: { ok: true } };
        });
        return { status: 500 };
      });
      expect(answer.status).toBeGreaterThanOrEqual(500);
      if (isUndone(way)) expect(await bench.effects(key)).toEqual([]);
      const again = await shop.ask(key, async (context) => {
        await context.transaction(async (tx) => {
          await sayOn(tx)(`INSERT INTO effects (name) VALUES ('${key} again')`);
          return { status: 201, body: { ok: true } };
        });
        return { status: 500 };
      });
      expect(again).toMatchObject({ status: 201, replayed: false });
      expect(await bench.effects(`${key} again`)).toHaveLength(1);
      await shop.ichido.close();
    });

    test.each(Object.entries(ways))("R7 inbox.runOnce has not processed a message after %s", async (way, spoil) => {
      const inbox = createInbox({ transactions: wrapped.runner, retentionMs: 86_400_000 });
      const one = message();
      const spoilt = inbox.runOnce(one, "stock", (tx) => spoil(sayOn(tx), one.id));
      await expect(spoilt).rejects.toThrow();
      if (isUndone(way)) expect(await bench.effects(one.id)).toEqual([]);
      const say = `INSERT INTO effects (name) VALUES ('${one.id} again')`;
      // DDL has committed the message's row with whatever came before it; after a deadlock nothing is left.
      const expected = way === "a table created" ? "duplicate" : "processed";
      expect(await inbox.runOnce(one, "stock", (tx) => sayOn(tx)(say))).toEqual({ outcome: expected });
    });

    test("R7 connections serve on by themselves after a commit, a rollback and a refusal", async () => {
      await wrapped.runner.run((tx) => sayOn(tx)(`INSERT INTO effects (name) VALUES ('${library} in')`));
      const failing = wrapped.runner.run(async (tx) => {
        await sayOn(tx)(`INSERT INTO effects (name) VALUES ('${library} never')`);
        throw new Error("no");
      });
      await expect(failing).rejects.toThrow("no");
      const refused = wrapped.runner.run((tx) => ways["a table created"](sayOn(tx), `${library} never`));
      await expect(refused).rejects.toThrow(/transaction/);
      // As many at once as the pool has connections.
      const alone = sayOn(undefined);
      await Promise.all([1, 2].map(() => alone(`INSERT INTO effects (name) VALUES ('${library} alone')`)));
      expect(await bench.effects(`${library} in`)).toHaveLength(1);
      expect(await bench.effects(`${library} alone`)).toHaveLength(2);
    });
  });
});
