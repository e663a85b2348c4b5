/** Files that cannot be opened, read, written or enlarged: a precise error, nothing run twice, and replays go on. */
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore, sqliteStore } from "ichido/sqlite";
import type { SqliteStore } from "ichido/sqlite";
import { sampleFingerprint, sampleIdentity, sampleOwner, sampleResponse } from "ichido/testing";
import type { ClaimRequest, StoredResponse } from "ichido";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import { reapAfterDeath } from "../../packages/ichido/src/testing/reaper.ts";
import { drivers, readers, temporaryFile } from "./sqlite-files.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type Driver = keyof typeof drivers;
const both = Object.keys(drivers) as Driver[];

function request(key: string, owner = key): ClaimRequest {
  return {
    identity: sampleIdentity(key),
    owner: sampleOwner(owner),
    fingerprint: sampleFingerprint(),
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
  };
}

async function complete(store: SqliteStore, key: string, response: StoredResponse = sampleResponse()): Promise<void> {
  const { identity, owner } = request(key);
  const result = await store.claim(request(key));
  if (result.outcome !== "granted") throw new Error(`${key}: ${result.outcome}`);
  expect(await store.complete({ identity, owner, fence: result.fence, response })).toBe("ok");
}

function file() {
  const made = temporaryFile();
  cleanups.push(made.remove);
  return made;
}

function open(path: string, driver: Driver) {
  const database = drivers[driver](path);
  cleanups.push(() => database.close());
  return database;
}

const unavailable = (result: string) => ({
  code: "store-unavailable",
  status: 503,
  message: expect.stringContaining(result),
});

describe("sqlite: files that cannot serve", () => {
  it("a folder that does not exist is named as such", async () => {
    const path = join(file().folder, "missing", "ichido.db");
    await expect(openSqliteStore(path)).rejects.toMatchObject(unavailable("SQLITE_CANTOPEN"));
    await expect(openSqliteStore(path)).rejects.toThrow(path);
  });

  it("an empty path is refused, where SQLite would open a database that vanishes", async () => {
    await expect(openSqliteStore("")).rejects.toMatchObject({ code: "option-invalid" });
  });

  for (const driver of both) {
    it(`what is not a database is named as such (${driver})`, async () => {
      const { path } = file();
      writeFileSync(path, "not a database\n".repeat(1_000));
      // better-sqlite3 and node:sqlite open any file; the first statement that reads it fails.
      const store = sqliteStore(open(path, driver));
      await expect(store.migrate()).rejects.toMatchObject(unavailable("SQLITE_NOTADB"));
      await expect(store.claim(request("key"))).rejects.toMatchObject(unavailable("SQLITE_NOTADB"));
      await expect(store.ping()).rejects.toMatchObject(unavailable("SQLITE_NOTADB"));
    });

    it(`a damaged file is named as such (${driver})`, async () => {
      const { path } = file();
      const before = await openSqliteStore(path, { migrate: true });
      for (let index = 0; index < 50; index += 1) await complete(before, `key-${index}`);
      await before.close();
      const pageBytes = 4_096;
      const pages = readFileSync(path).length / pageBytes;
      const handle = openSync(path, "r+");
      for (let page = 1; page < pages; page += 1) writeSync(handle, Buffer.alloc(512, 0xa5), 0, 512, page * pageBytes);
      closeSync(handle);
      const store = sqliteStore(open(path, driver));
      await expect(store.claim(request("key-1", "other"))).rejects.toMatchObject(unavailable("SQLITE_CORRUPT"));
      await expect(store.claim(request("new"))).rejects.toMatchObject(unavailable("SQLITE_CORRUPT"));
    });

    it(`S14 a file that cannot be written refuses new claims and goes on replaying (${driver})`, async () => {
      const { path } = file();
      const writer = await openSqliteStore(path, { migrate: true });
      cleanups.push(() => writer.close());
      await complete(writer, "done");
      const database = readers[driver](path);
      cleanups.push(() => database.close());
      const store = sqliteStore(database);
      expect(await store.claim(request("done", "other"))).toMatchObject({ outcome: "completed" });
      await expect(store.claim(request("new"))).rejects.toMatchObject(unavailable("SQLITE_READONLY"));
      await expect(store.ping(), "ping fails when a claim would").rejects.toMatchObject(unavailable("SQLITE_READONLY"));
      expect(await writer.find(request("new").identity)).toBeUndefined();
    });

    it(`S14 a database at its greatest size refuses new claims, loses nothing and goes on replaying (${driver})`, async () => {
      const { path } = file();
      const database = open(path, driver);
      const store = sqliteStore(database);
      await store.migrate();
      await complete(store, "done");
      database.exec("PRAGMA max_page_count = 60");
      const body = new Uint8Array(20_000);
      const done: string[] = [];
      const failures: unknown[] = [];
      for (let index = 0; failures.length === 0 && index < 100; index += 1) {
        await complete(store, `key-${index}`, sampleResponse({ body })).then(
          () => done.push(`key-${index}`),
          (error: unknown) => failures.push(error),
        );
      }
      expect(failures).toMatchObject([unavailable("SQLITE_FULL")]);
      expect(done.length).toBeGreaterThan(0);
      for (const key of ["done", ...done]) {
        expect(await store.claim(request(key, "other"))).toMatchObject({ outcome: "completed" });
      }
      database.exec("PRAGMA max_page_count = 100000");
      await complete(store, "later", sampleResponse({ body }));
    });

    it(`a handle that was closed fails calls instead of hanging them (${driver})`, async () => {
      const database = drivers[driver](file().path);
      const store = sqliteStore(database);
      await store.migrate();
      await complete(store, "done");
      database.close();
      await expect(store.claim(request("new"))).rejects.toMatchObject({ code: "store-unavailable" });
      await expect(store.renew([{ ...request("done"), fence: 1 }])).rejects.toMatchObject({
        code: "store-unavailable",
      });
    });
  }
});

/** A file system of its own that is soon full. Needs the right to mount one. */
function smallDisk(context: TestContext, megabytes: number): string {
  const folder = mkdtempSync(join(tmpdir(), "ichido-small-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "ichido-test", folder]);
  if (mounted.status !== 0) {
    rmSync(folder, { recursive: true });
    const reason = `no small disk: mount needs root (${mounted.stderr?.toString().trim() ?? String(mounted.error)})`;
    if (process.env["CI"] === "true" || process.env["REQUIRE_SERVICES"] === "1") throw new Error(reason);
    console.warn(`SKIPPED, ${reason}`);
    context.skip(reason);
  }
  const will = reapAfterDeath({ run: ["umount", folder], folder });
  cleanups.push(() => {
    expect(spawnSync("umount", [folder]).status).toBe(0);
    rmSync(folder, { recursive: true });
    will.forget();
  });
  return folder;
}

describe("sqlite: a full disk", () => {
  it("S14 new claims fail, answers given before stay, and claims go on once there is space", async (context) => {
    const folder = smallDisk(context, 3);
    const path = join(folder, "ichido.db");
    const store = await openSqliteStore(path, { migrate: true });
    cleanups.push(() => store.close());
    const body = new Uint8Array(50_000);
    await complete(store, "done");
    writeFileSync(join(folder, "filler"), Buffer.alloc(1_500_000));
    const done: string[] = [];
    const failures: unknown[] = [];
    for (let index = 0; failures.length === 0 && index < 100; index += 1) {
      await complete(store, `key-${index}`, sampleResponse({ body })).then(
        () => done.push(`key-${index}`),
        (error: unknown) => failures.push(error),
      );
    }
    expect(failures).toMatchObject([
      { code: "store-unavailable", message: expect.stringMatching(/SQLITE_(FULL|IOERR)/) },
    ]);
    for (const key of ["done", ...done]) {
      expect(await store.claim(request(key, "other"))).toMatchObject({ outcome: "completed" });
    }
    rmSync(join(folder, "filler"));
    await complete(store, "later", sampleResponse({ body }));
    const check = new DatabaseSync(path);
    expect(check.prepare("PRAGMA integrity_check").get()).toMatchObject({ integrity_check: "ok" });
    check.close();
  });
});
