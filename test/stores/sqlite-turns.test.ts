/** How calls share one connection: grouped commits, a bad call among good ones, the user's own transaction, drivers' settings. */
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqliteStore, sqliteStore } from "ichido/sqlite";
import type { SqliteDatabase, SqliteStore, SqliteStoreOptions } from "ichido/sqlite";
import { sampleFingerprint, sampleIdentity, sampleOwner, sampleResponse } from "ichido/testing";
import type { Claim, ClaimRequest, TransactionHandle } from "ichido";
import { afterEach, describe, expect, it, vi } from "vitest";
import { drivers, temporaryFile, type OpenDatabase } from "./sqlite-files.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type Driver = keyof typeof drivers;

async function open(driver: Driver = "node:sqlite", options: SqliteStoreOptions = {}) {
  const file = temporaryFile();
  const database = drivers[driver](file.path);
  const store = sqliteStore(database, options);
  await store.migrate();
  cleanups.push(
    file.remove,
    () => database.close(),
    () => store.close(),
  );
  return { store, database, path: file.path };
}

function another(path: string, driver: Driver = "node:sqlite"): OpenDatabase {
  const database = drivers[driver](path);
  cleanups.push(() => database.close());
  return database;
}

function request(key: string, parts: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    identity: sampleIdentity(key),
    owner: sampleOwner(key),
    fingerprint: sampleFingerprint(),
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
    ...parts,
  };
}

describe("sqlite: what may be lost", () => {
  it("S15 a level that cannot be read is told, and the store closes", async () => {
    const { store, database } = await open("better-sqlite3");
    const claim = await granted(store, "lax");
    const broken = vi.spyOn(database, "exec").mockImplementation(() => {
      throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
    });
    const step = { ...claim, name: "call", leaseMs: 30_000, mayBeLost: true };
    await expect(store.startStep(step)).rejects.toMatchObject({ code: "store-unavailable" });
    broken.mockRestore();
    expect(await store.startStep(step)).toBe("ok");
    await store.close();
  });

  it.each(["node:sqlite", "better-sqlite3"] as const)(
    "S15 a start that may be lost is seen by others at once, and later commits wait for the disk again, %s",
    async (driver) => {
      const { store, database, path } = await open(driver);
      const level = (): unknown => Object.values(Object(database.prepare("PRAGMA synchronous").get()))[0];
      const claim = await granted(store, "lax");
      expect(level()).toBe(2);
      expect(await store.startStep({ ...claim, name: "call", leaseMs: 30_000, mayBeLost: true })).toBe("ok");
      expect(level()).toBe(2);
      const other = sqliteStore(another(path, driver));
      expect(await other.steps(claim.identity)).toMatchObject([{ name: "call", state: "started" }]);
      await other.close();
    },
  );
});

async function granted(store: SqliteStore, key: string): Promise<Claim> {
  const { identity, owner } = request(key);
  const result = await store.claim(request(key));
  if (result.outcome !== "granted") throw new Error(`${key}: ${result.outcome}`);
  return { identity, owner, fence: result.fence };
}

/** The same handle, with every statement that is run noted. */
function listened(database: SqliteDatabase, heard: string[]): SqliteDatabase {
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        get: (...values) => statement.get(...values),
        all: (...values) => statement.all(...values),
        run(...values) {
          heard.push(sql);
          return statement.run(...values);
        },
      };
    },
    exec: (sql) => database.exec(sql),
    get isTransaction() {
      return database.isTransaction ?? database.inTransaction ?? false;
    },
  };
}

describe("sqlite: grouping", () => {
  it("S1 calls of one turn share a commit, each with its own answer", async () => {
    const { path } = await open();
    const heard: string[] = [];
    const store = sqliteStore(listened(another(path), heard));
    await store.ping();
    heard.length = 0;
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) => store.claim(request(`key-${index % 50}`))),
    );
    expect(results.filter((result) => result.outcome === "granted" && result.resent !== true)).toHaveLength(50);
    expect(heard.filter((sql) => sql === "COMMIT")).toHaveLength(1);
  });

  it("S1 a lone call is committed by itself, without waiting for another", async () => {
    const { path } = await open();
    const heard: string[] = [];
    const store = sqliteStore(listened(another(path), heard));
    for (const key of ["one", "two"]) await granted(store, key);
    expect(heard.filter((sql) => sql === "COMMIT")).toHaveLength(2);
  });

  it("S7 a transaction carries at most a few megabytes of bodies", async () => {
    const { path } = await open();
    const heard: string[] = [];
    const store = sqliteStore(listened(another(path), heard));
    const claims = await Promise.all(Array.from({ length: 12 }, (_, index) => granted(store, `key-${index}`)));
    heard.length = 0;
    const body = new Uint8Array(1_048_576);
    const answers = await Promise.all(
      claims.map((claim) => store.complete({ ...claim, response: sampleResponse({ body }) })),
    );
    expect(answers).toEqual(claims.map(() => "ok"));
    expect(heard.filter((sql) => sql === "COMMIT")).toHaveLength(3);
  });

  for (const driver of Object.keys(drivers) as Driver[]) {
    it(`S7 a call that SQLite refuses fails alone among those it was grouped with (${driver})`, async () => {
      const { store } = await open(driver);
      const claims = await Promise.all(Array.from({ length: 20 }, (_, index) => granted(store, `key-${index}`)));
      const answers = await Promise.allSettled(
        claims.map((claim, index) =>
          store.complete({ ...claim, response: sampleResponse({ status: index === 7 ? 200.5 : 201 }) }),
        ),
      );
      expect(answers.flatMap((answer, index) => (answer.status === "rejected" ? [index] : []))).toEqual([7]);
      expect(answers[7]).toMatchObject({ reason: { code: "store-unavailable" } });
      const states = await Promise.all(claims.map(async ({ identity }) => (await store.find(identity))?.state));
      expect(states.map((state) => state === "completed")).toEqual(claims.map((_, index) => index !== 7));
    });
  }

  it("calls fail instead of hanging when a commit fails and not even the rollback works", async () => {
    const { path } = await open();
    const inner = another(path);
    let broken = false;
    const store = sqliteStore({
      ...listened(inner, []),
      prepare(sql) {
        const statement = inner.prepare(sql);
        return {
          get: (...values) => statement.get(...values),
          all: (...values) => statement.all(...values),
          run(...values) {
            if (broken && ["COMMIT", "ROLLBACK"].includes(sql)) throw Object.assign(new Error("gone"), { errcode: 10 });
            return statement.run(...values);
          },
        };
      },
    });
    await store.ping();
    broken = true;
    const results = await Promise.allSettled(["a", "b"].map((key) => store.claim(request(key))));
    const reason = { code: "store-unavailable", message: expect.stringContaining("SQLITE_IOERR") };
    expect(results).toMatchObject([{ reason }, { reason }]);
  });

  it("more calls than the queue holds are refused at once, and those in it are served", async () => {
    const { store } = await open("node:sqlite", { queueMax: 5 });
    await store.ping();
    const results = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => store.ping().then(() => index)));
    expect(results.map(({ status }) => status)).toEqual([...Array(5).fill("fulfilled"), ...Array(3).fill("rejected")]);
    expect(results[5]).toMatchObject({
      reason: { code: "store-unavailable", message: expect.stringContaining("queueMax") },
    });
  });

  it("close() lets calls under way finish and refuses later ones", async () => {
    const { store } = await open();
    const under = granted(store, "key");
    await store.close();
    expect((await under).fence).toBeGreaterThan(0);
    await expect(store.claim(request("late"))).rejects.toMatchObject({ code: "engine-closed" });
  });

  it("replaced global timers do not stop the store", async () => {
    const { store } = await open();
    vi.useFakeTimers();
    try {
      expect((await granted(store, "key")).fence).toBeGreaterThan(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("sqlite: without the write lock", () => {
  it("S7 replays, conflicts and mismatches are answered while another connection holds the write lock", async () => {
    const { store, path } = await open();
    const done = await granted(store, "done");
    await store.complete({ ...done, response: sampleResponse() });
    await granted(store, "live");
    const other = another(path);
    other.exec("BEGIN IMMEDIATE");
    const owner = sampleOwner("other");
    expect(await store.claim(request("done", { owner }))).toMatchObject({
      outcome: "completed",
      response: sampleResponse(),
    });
    expect(await store.claim(request("live", { owner }))).toMatchObject({ outcome: "processing" });
    const fingerprint = sampleFingerprint("something else");
    expect(await store.claim(request("live", { owner, fingerprint }))).toEqual({ outcome: "mismatch" });
    expect(await store.find(done.identity)).toMatchObject({ state: "completed" });
    let served = false;
    const fresh = store.claim(request("new")).then((result) => {
      served = true;
      return result;
    });
    await sleep(50);
    expect(served).toBe(false);
    other.exec("ROLLBACK");
    expect(await fresh).toMatchObject({ outcome: "granted" });
  });

  it("S7 a replay writes nothing", async () => {
    const { store, path } = await open();
    const claim = await granted(store, "key");
    await store.complete({ ...claim, response: sampleResponse() });
    const other = another(path);
    const version = () => other.prepare("PRAGMA data_version").get();
    const before = version();
    for (let round = 0; round < 5; round += 1) {
      expect(await store.claim(request("key", { owner: sampleOwner("other") }))).toMatchObject({
        outcome: "completed",
      });
    }
    expect(version()).toEqual(before);
  });
});

describe("sqlite: the user's own transaction", () => {
  for (const driver of Object.keys(drivers) as Driver[]) {
    it(`a call never joins a transaction that is open on the same handle (${driver})`, async () => {
      const { store, database } = await open(driver);
      database.exec("CREATE TABLE business (id INTEGER)");
      database.exec("BEGIN");
      database.exec("INSERT INTO business VALUES (1)");
      const claiming = granted(store, "key");
      await sleep(30);
      database.exec("ROLLBACK");
      const claim = await claiming;
      expect(await store.find(claim.identity)).toMatchObject({ state: "processing" });
      expect(database.prepare("SELECT count(*) AS n FROM business").get()).toMatchObject({ n: 0 });
    });

    it(`S5 complete joins the transaction it is handed, and is undone with it (${driver})`, async () => {
      const { store, path } = await open(driver);
      const database = another(path, driver);
      const handle: TransactionHandle = {
        dialect: "sqlite",
        async execute(sql, values) {
          const statement = database.prepare(sql);
          const bound = values as Parameters<typeof statement.run>;
          if (sql.includes("UPDATE")) return { rows: [], affected: Number(statement.run(...bound).changes) };
          return { rows: statement.all(...bound) as Record<string, unknown>[], affected: 0 };
        },
      };
      database.exec("CREATE TABLE business (id INTEGER)");
      const claim = await granted(store, "key");
      const response = sampleResponse();
      for (const end of ["ROLLBACK", "COMMIT"] as const) {
        database.exec("BEGIN IMMEDIATE");
        database.exec("INSERT INTO business VALUES (1)");
        expect(await store.complete({ ...claim, response }, handle)).toBe("ok");
        expect(await store.complete({ ...claim, response }, handle), "sent again").toBe("ok");
        expect(await store.complete({ ...claim, fence: claim.fence + 1, response }, handle)).toBe("stale");
        expect(await store.find(claim.identity), "not before the commit").toMatchObject({ state: "processing" });
        database.exec(end);
        const committed = end === "COMMIT";
        expect(await store.find(claim.identity)).toMatchObject({ state: committed ? "completed" : "processing" });
        expect(database.prepare("SELECT count(*) AS n FROM business").get()).toMatchObject({ n: committed ? 1 : 0 });
      }
    });
  }

  it("a transaction that stays open on the handle fails the call after lockTimeoutMs", async () => {
    const { store, database } = await open("node:sqlite", { lockTimeoutMs: 100 });
    database.exec("BEGIN");
    await expect(store.claim(request("key"))).rejects.toMatchObject({ code: "store-unavailable" });
    database.exec("ROLLBACK");
    expect(await store.claim(request("key"))).toMatchObject({ outcome: "granted", origin: "new" });
  });

  it("a transaction of another dialect is refused", async () => {
    const { store } = await open();
    const claim = await granted(store, "key");
    const execute = vi.fn();
    await expect(
      store.complete({ ...claim, response: sampleResponse() }, { dialect: "postgres", execute }),
    ).rejects.toMatchObject({ code: "usage-invalid" });
    expect(execute).not.toHaveBeenCalled();
  });
});

describe("sqlite: settings of the handle", () => {
  const level = (database: SqliteDatabase) => Object.values(database.prepare("PRAGMA synchronous").get() as object)[0];

  for (const driver of Object.keys(drivers) as Driver[]) {
    it(`commits wait for the disk, whatever the driver's default (${driver})`, async () => {
      const { database, path } = await open(driver);
      expect(level(database)).toBe(2);
      expect(another(path).prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "wal" });
    });

    it(`a weaker level set on the handle later is noticed by the next tick (${driver})`, async () => {
      const { store, database } = await open(driver);
      await granted(store, "key");
      database.exec("PRAGMA synchronous = OFF");
      await store.tick({ intervalMs: 1_000 });
      expect(level(database)).toBe(2);
    });

    it(`a stronger level of the user's stays (${driver})`, async () => {
      const file = temporaryFile();
      const database = drivers[driver](file.path);
      cleanups.push(file.remove, () => database.close());
      database.exec("PRAGMA synchronous = EXTRA");
      await sqliteStore(database).migrate();
      expect(level(database)).toBe(3);
    });

    it(`the user's own lock wait is left as it was (${driver})`, async () => {
      const { store, database } = await open(driver);
      database.exec("PRAGMA busy_timeout = 1234");
      await granted(store, "key");
      expect(Object.values(database.prepare("PRAGMA busy_timeout").get() as object)).toEqual([1234]);
    });
  }

  it("synchronous: normal is set only when asked for, with a warning", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    try {
      const { database, store } = await open("node:sqlite", { synchronous: "normal" });
      expect(level(database)).toBe(1);
      expect(store.capabilities.promise).toContain("not a power cut");
      expect(warnings).toMatchObject([{ name: "IchidoWarning", code: "ICHIDO_SQLITE_NORMAL" }]);
    } finally {
      process.off("warning", listen);
    }
  });

  it("handles that answer with bigints work", async () => {
    const file = temporaryFile();
    const better = drivers["better-sqlite3"](file.path) as OpenDatabase & { defaultSafeIntegers(): void };
    better.defaultSafeIntegers();
    const node = new DatabaseSync(file.path, { readBigInts: true });
    cleanups.push(
      file.remove,
      () => better.close(),
      () => node.close(),
    );
    await sqliteStore(better).migrate();
    for (const [index, database] of [better, node].entries()) {
      const store = sqliteStore(database);
      const claim = await granted(store, `key-${index}`);
      expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
      expect(typeof (await store.find(claim.identity))?.fence).toBe("number");
      expect(await store.stats()).toMatchObject({ records: index + 1 });
    }
  });

  it("a database in memory works and does not claim to last", async () => {
    const store = await openSqliteStore(":memory:", { migrate: true });
    expect(store.capabilities).toMatchObject({ durable: false, shared: false });
    expect((await granted(store, "key")).fence).toBeGreaterThan(0);
    await store.close();
  });

  it("wrong options and strange handles are refused by name", () => {
    const database = new DatabaseSync(":memory:");
    cleanups.push(() => database.close());
    const wrong: readonly [unknown, unknown, string][] = [
      [database, { synchronous: "off" }, "synchronous"],
      [database, { lockTimeoutMs: 0 }, "lockTimeoutMs"],
      [database, { queueMax: 1.5 }, "queueMax"],
      [{}, {}, "database"],
      [{ prepare() {}, exec() {} }, {}, "inTransaction"],
    ];
    for (const [handle, options, name] of wrong) {
      expect(() => sqliteStore(handle as SqliteDatabase, options as SqliteStoreOptions)).toThrow(
        expect.objectContaining({ code: "option-invalid", message: expect.stringContaining(name) }),
      );
    }
  });
});
