/** `pgTransactions`: BEGIN travels with the first statement and COMMIT with the last ones, and nothing is lost by it. */
import { postgresStore } from "ichido/postgres";
import { CommitFailed, pgTransactions, type TransactionRunner } from "ichido/transactions";
import { Pool, type PoolClient, type PoolConfig } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countTrips } from "../support/round-trips.ts";
import { freshDatabase, postgresUrl, startPgbouncer, type FreshDatabase } from "../support/services.ts";

const server = await postgresUrl();
const pooler = await startPgbouncer(server, { poolMode: "transaction", poolSize: 2 });
afterAll(() => pooler.stop());

function throughPooler(url: string): string {
  const pooled = new URL(pooler.url);
  pooled.pathname = new URL(url).pathname;
  return pooled.href;
}

const subjects: readonly {
  readonly name: string;
  readonly config?: PoolConfig;
  readonly address?: (url: string) => string;
  readonly prepare?: false;
}[] = [
  { name: "pg" },
  { name: "pg, nothing prepared", prepare: false },
  { name: "pg that pipelines", config: { pipeline: true } as PoolConfig },
  { name: "pg through PgBouncer", address: throughPooler },
];

const frequent = { frequent: true };
const insert = "insert into effects (id, note) values ($1::int, $2::text)";
const opens = { opensByHandle: true };

describe.each(subjects)("folding, $name", ({ config, address = (url) => url, prepare }) => {
  let database: FreshDatabase;
  let pool: Pool;
  let runner: TransactionRunner<PoolClient>;

  beforeAll(async () => {
    database = await freshDatabase(server);
    // One connection: what one transaction leaves behind, the next one meets.
    pool = new Pool({ connectionString: address(database.url), max: 1, ...config });
    pool.on("error", () => {});
    runner = pgTransactions(pool, prepare === undefined ? {} : { prepare });
    await pool.query("create table effects (id int primary key deferrable initially immediate, note text)");
    await pool.query("create table parents (id int primary key)");
    await pool.query(
      "create table children (parent int references parents (id) deferrable initially deferred, note text)",
    );
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const ids = async (): Promise<number[]> =>
    (await pool.query("select id from effects order by id")).rows.map(({ id }) => id as number);
  const clear = (): Promise<unknown> => pool.query("delete from effects");

  it("first and last statements commit together, again and again", async () => {
    await clear();
    for (let round = 1; round <= 8; round += 1) {
      await runner.run(async (_tx, handle) => {
        expect((await handle.execute(insert, [round * 10, "first"], frequent)).affected).toBe(1);
        handle.sendWithCommit?.(insert, [round * 10 + 1, "next"]);
        handle.sendWithCommit?.("update effects set note = 'last' where id = $1::int", [round * 10 + 1]);
      }, opens);
    }
    expect(await ids()).toHaveLength(16);
    const { rows } = await pool.query("select count(*)::int as n from effects where note = 'last'");
    expect(rows).toEqual([{ n: 8 }]);
  });

  it("what a last statement refuses is not committed, and the connection serves on", async () => {
    await clear();
    const refused = runner.run(async (_tx, handle) => {
      await handle.execute(insert, [1, "kept?"], frequent);
      handle.sendWithCommit?.(insert, [2, "fine"]);
      handle.sendWithCommit?.("select 1 / $1::int", [0], (error) => new Error("judged", { cause: error }));
      handle.sendWithCommit?.(insert, [3, "never reached"]);
    }, opens);
    await expect(refused).rejects.toThrow("judged");
    expect(await ids()).toEqual([]);
    await runner.run((_tx, handle) => handle.execute(insert, [4, "after"], frequent), opens);
    expect(await ids()).toEqual([4]);
  });

  it("a COMMIT that the server refuses is a failed commit, and nothing is there", async () => {
    await clear();
    const broken = runner.run(async (_tx, handle) => {
      await handle.execute(insert, [1, "kept?"], frequent);
      handle.sendWithCommit?.("insert into children (parent) values ($1::int)", [404]);
    }, opens);
    await expect(broken).rejects.toBeInstanceOf(CommitFailed);
    expect(await ids()).toEqual([]);
  });

  it("a first statement that fails is rolled back like any other", async () => {
    await clear();
    await pool.query("insert into effects values (1, 'there')");
    const failed = runner.run((_tx, handle) => handle.execute(insert, [1, "again"], frequent), opens);
    await expect(failed).rejects.toMatchObject({ code: "23505" });
    const caught = runner.run(async (_tx, handle) => {
      await handle.execute(insert, [1, "again"], frequent).catch(() => undefined);
      handle.sendWithCommit?.(insert, [2, "never"]);
    }, opens);
    await expect(caught).rejects.toThrow(/PostgreSQL undoes the whole transaction/);
    expect(await ids()).toEqual([1]);
  });

  it("a function that ended the transaction itself, or caught what broke it, closes nothing", async () => {
    await clear();
    const ended = runner.run(async (tx, handle) => {
      await handle.execute(insert, [1, "gone"], frequent);
      await tx.query("rollback");
      handle.sendWithCommit?.(insert, [2, "must not stand alone"]);
    }, opens);
    await expect(ended).rejects.toThrow(/not inside a transaction/);
    const broken = runner.run(async (_tx, handle) => {
      await handle.execute(insert, [3, "gone"], frequent);
      await handle.execute("select 1 / $1::int", [0], frequent).catch(() => undefined);
      handle.sendWithCommit?.(insert, [4, "never"]);
    }, opens);
    await expect(broken).rejects.toThrow();
    expect(await ids()).toEqual([]);
  });

  it("last statements alone are a transaction too; after the end there are none", async () => {
    await clear();
    let late: (() => void) | undefined;
    await runner.run(async (_tx, handle) => {
      handle.sendWithCommit?.(insert, [1, "alone"]);
      late = () => handle.sendWithCommit?.(insert, [2, "late"]);
    }, opens);
    expect(late).toThrow(/not inside a transaction/);
    expect(await ids()).toEqual([1]);
  });

  it("what cannot be sent or read is told, and the connection serves on", async () => {
    await clear();
    const circle: unknown[] = [];
    circle.push({ circle });
    const unsendable = runner.run((_tx, handle) => handle.execute("select $1::text", [circle], frequent), opens);
    await expect(unsendable).rejects.toThrow();
    const unreadable = runner.run(async (tx, handle) => {
      (tx as unknown as { setTypeParser(oid: number, parse: () => never): void }).setTypeParser(700, () => {
        throw new Error("no such number here");
      });
      return handle.execute("select $1::real as number", ["1.5"], frequent);
    });
    await expect(unreadable).rejects.toThrow("no such number here");
    await runner.run((_tx, handle) => handle.execute(insert, [1, "after"], frequent), opens);
    expect(await ids()).toEqual([1]);
  });

  it("a function that says nothing begins nothing", async () => {
    expect(await runner.run(async () => "nothing", opens)).toBe("nothing");
    const failing = runner.run(async () => {
      throw new Error("before anything");
    }, opens);
    await expect(failing).rejects.toThrow("before anything");
    const { rows } = await pool.query("select now() = statement_timestamp() as outside");
    expect(rows).toEqual([{ outside: true }]);
  });

  it("values and rows are those that the driver itself would give", async () => {
    const text =
      "select $1::text as text, $2::bytea as bytes, $3::int as small, $4::bigint as big, $5::text as nothing";
    const values = ["'\\ \n日本 $1", Buffer.from([0, 255, 92, 39]), 7, "9007199254740993", null];
    const { rows: direct } = await pool.query(text, values);
    for (let round = 0; round < 3; round += 1) {
      const opened = await runner.run((_tx, handle) => handle.execute(text, values, frequent), opens);
      expect(opened.rows).toEqual(direct);
      const later = await runner.run(async (tx, handle) => {
        await tx.query("select 1");
        return handle.execute(text, values, frequent);
      });
      expect(later.rows).toEqual(direct);
      expect((await runner.ask?.(text, values, frequent))?.rows).toEqual(direct);
    }
  });

  it("a savepoint of the function works in between", async () => {
    await clear();
    await runner.run(async (tx, handle) => {
      await handle.execute(insert, [1, "kept"], frequent);
      await tx.query("savepoint s");
      await tx.query("insert into effects values (1, 'double')").catch(() => undefined);
      await tx.query("rollback to savepoint s");
      handle.sendWithCommit?.(insert, [2, "kept"]);
    }, opens);
    expect(await ids()).toEqual([1, 2]);
  });

  it("a session whose statements were thrown away is served all the same", async () => {
    await clear();
    const once = (id: number): Promise<unknown> =>
      runner.run(async (_tx, handle) => {
        await handle.execute(insert, [id, "x"], frequent);
        handle.sendWithCommit?.(insert, [id + 1, "x"]);
      }, opens);
    await once(1);
    await pool.query("deallocate all");
    await once(3);
    await runner.run(async (tx, handle) => {
      await tx.query("select 1");
      handle.sendWithCommit?.(insert, [5, "x"]);
    });
    await pool.query("deallocate all");
    expect((await runner.ask?.("select 6 as six", [], frequent))?.rows).toEqual([{ six: 6 }]);
    expect(await ids()).toEqual([1, 2, 3, 4, 5]);
  });

  it("a connection that dies before the end is told, and the next transaction has another", async () => {
    await clear();
    const dying = runner.run(async (tx, handle) => {
      const { rows } = await handle.execute("select pg_backend_pid() as pid", [], frequent);
      handle.sendWithCommit?.(insert, [1, "never"]);
      const killer = new Pool({ connectionString: database.url, max: 1 });
      await killer.query("select pg_terminate_backend($1)", [rows[0]?.["pid"]]);
      await killer.end();
      await tx.query("select 1").catch(() => undefined);
    }, opens);
    await expect(dying).rejects.toThrow();
    expect(await ids()).toEqual([]);
  });
});

describe("folding, round trips", () => {
  it("a transaction of one statement and one last one waits twice for the server, a question once", async () => {
    const database = await freshDatabase(server);
    const wire = await countTrips(database.url);
    const pool = new Pool({ connectionString: wire.url, max: 1 });
    pool.on("error", () => {});
    const runner = pgTransactions(pool);
    await pool.query("create table effects (id int primary key, note text)");
    const once = (id: number): Promise<unknown> =>
      runner.run(async (_tx, handle) => {
        await handle.execute(insert, [id, "x"], frequent);
        handle.sendWithCommit?.(insert, [id + 1, "x"]);
      }, opens);
    // The first one on a connection finds out whether a pooler stands between.
    await once(1);
    expect(await wire.during(() => once(3))).toBe(2);
    await runner.ask?.("select 1", [], frequent);
    expect(await wire.during(async () => runner.ask?.("select 1", [], frequent))).toBe(1);
    const { rows } = await pool.query("select name from pg_prepared_statements order by name");
    expect(rows.map(({ name }) => String(name).replace(/_[0-9a-f]{16}$/, ""))).toEqual([
      "ichido_BEGIN",
      "ichido_COMMIT",
      "ichido_insert_into_effects",
      "ichido_select_1",
    ]);
    await pool.end();
    wire.close();
    await database.drop();
  });
});

/** One connection to a database of its own. */
async function onePool(): Promise<{ readonly pool: Pool; readonly close: () => Promise<void> }> {
  const database = await freshDatabase(server);
  const pool = new Pool({ connectionString: database.url, max: 1 });
  pool.on("error", () => {});
  return {
    pool,
    async close() {
      await pool.end();
      await database.drop();
    },
  };
}

describe("a lent connection's last word", () => {
  const borrowers: Readonly<Record<string, (pool: Pool) => () => Promise<unknown>>> = {
    runner(pool) {
      const runner = pgTransactions(pool);
      return () => runner.run(async (tx) => tx.query("select 1"));
    },
    store(pool) {
      const store = postgresStore(pool, { listen: false });
      return () => store.ping();
    },
  };

  it.each(Object.keys(borrowers))("before its borrower has it, ends no process: %s", async (name) => {
    const { pool, close } = await onePool();
    const unheard: unknown[] = [];
    const connect = pool.connect.bind(pool) as () => Promise<PoolClient>;
    pool.connect = (() => {
      const lent = connect();
      // The first to hear of the client, and so before its borrower.
      void lent.then((client) => {
        try {
          client.emit("error", new Error("terminating connection"));
        } catch (error) {
          unheard.push(error);
        }
        return undefined;
      });
      return lent;
    }) as typeof pool.connect;
    // Nobody has used this pool before: its first connection is a new one.
    await borrowers[name]?.(pool)().catch(() => undefined);
    expect(unheard).toEqual([]);
    await close();
  });

  it("is heard from a pool that does not tell when it lends", async () => {
    const { pool, close } = await onePool();
    const runner = pgTransactions<PoolClient>({ connect: () => pool.connect() });
    const unheard = runner.run(async (tx) => tx.emit("error", new Error("terminating connection")));
    await expect(unheard).resolves.toBe(true);
    await close();
  });

  it("a statement that is never answered does not keep the transaction from ending", { timeout: 20_000 }, async () => {
    const { pool, close } = await onePool();
    const runner = pgTransactions(pool);
    const given = runner.run(async (_tx, handle) => {
      handle.execute("select pg_sleep(3600)", []).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 50));
      throw new Error("given up");
    }, opens);
    await expect(given).rejects.toThrow("given up");
    expect((await runner.run(async (tx) => tx.query("select 1 as one"))).rows).toEqual([{ one: 1 }]);
    await close();
  });
});
