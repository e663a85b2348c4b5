/** Answers lie in these files in clear: whoever creates one creates it for its owner alone. */
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "ichido/sqlite";
import { sampleFingerprint, sampleIdentity, sampleOwner } from "ichido/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../../apps/shop/src/database/sqlite-file.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ichido-mode-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function modes(): Record<string, string> {
  const entries = readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]);
  return Object.fromEntries(entries) as Record<string, string>;
}

async function claim(path: string): Promise<{ close: () => Promise<void> }> {
  const store = await openSqliteStore(path, { migrate: true });
  await store.claim({
    identity: sampleIdentity("key"),
    owner: sampleOwner("owner"),
    fingerprint: sampleFingerprint(),
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
  });
  return store;
}

const ofOwnerAlone = { "keys.db": "600", "keys.db-shm": "600", "keys.db-wal": "600" };

describe.skipIf(process.platform === "win32")("sqlite files (Windows has no such modes)", () => {
  it("those that openSqliteStore creates, its log and index too, are for their owner alone", async () => {
    const store = await claim(join(folder, "keys.db"));
    expect(modes()).toEqual(ofOwnerAlone);
    await store.close();
  });

  it("one that is there keeps the mode that its owner gave it", async () => {
    const path = join(folder, "keys.db");
    writeFileSync(path, "");
    chmodSync(path, 0o640);
    const store = await claim(path);
    expect(modes()).toMatchObject({ "keys.db": "640" });
    await store.close();
  });

  it("a database that is no file leaves none behind", async () => {
    await (await claim(":memory:")).close();
    expect(existsSync(":memory:")).toBe(false);
  });

  it("the shop's are for their owner alone", async () => {
    const database = await openDatabase(join(folder, "keys.db"), []);
    database.exec("CREATE TABLE t (x)");
    expect(modes()).toEqual(ofOwnerAlone);
    database.close();
  });
});
