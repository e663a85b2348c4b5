import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAttempts, type Attempts } from "ichido/client";
import { fileStorage } from "ichido/client/node";
import { spawnChild } from "ichido/testing";
import { bench, pay } from "./payment-bench.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ichido-attempts-"));
  file = join(folder, "deep", "attempts.json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const attemptsIn = (path: string): Attempts => createAttempts({ storage: fileStorage(path), nowMs: Date.now });

describe("attempts in a file", () => {
  it("survive a restart: the same key is sent and the first answer comes back", async () => {
    const all = await bench();
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    const before = all.make({ storage: fileStorage(file), retry: { triesMax: 1 } });
    expect((await pay({ client: before })).kind).toBe("unknown");
    const after = all.make({ storage: fileStorage(file) });
    expect(await pay({ client: after })).toMatchObject({ kind: "done", replayed: true });
    expect(all.effects()).toBe(1);
    const items = Object.keys(JSON.parse(readFileSync(file, "utf8")) as object);
    expect(items.toSorted()).toEqual(["ichido:attempt:pay:b-1", "ichido:done", "ichido:made"]);
  });

  it("made at once for many names are all kept; the file is the owner's alone and nothing is left beside it", async () => {
    const attempts = attemptsIn(file);
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
    await Promise.all(names.map((name) => attempts.create(name, name)));
    const items = Object.keys(JSON.parse(readFileSync(file, "utf8")) as object);
    expect(items.toSorted()).toEqual([...names.map((name) => `ichido:attempt:${name}`), "ichido:made"].toSorted());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, "deep"))).toEqual(["attempts.json"]);
  });

  it("made at once in several processes are one", async () => {
    const program = new URL("file-storage.child.ts", import.meta.url);
    const children = await Promise.all(
      Array.from({ length: 3 }, () => spawnChild(program, { args: [file], execArgv: ["--conditions=ichido-source"] })),
    );
    const keys = await Promise.all(children.map(async (child) => (await child.waitFor(/^[0-9a-f-]{36}$/))[0]));
    await Promise.all(children.map((child) => child.exited));
    expect(new Set(keys).size).toBe(1);
  });

  it("are not waited for behind the lock of a process that died", async () => {
    await attemptsIn(file).create("a", 1);
    writeFileSync(`${file}.lock`, "");
    utimesSync(`${file}.lock`, new Date(0), new Date(0));
    expect((await attemptsIn(file).create("a", 1)).name).toBe("a");
    expect(readdirSync(join(folder, "deep"))).toEqual(["attempts.json"]);
  });

  it("behind a stale lock that many find at once are still made one at a time", async () => {
    await attemptsIn(file).create("a", 1);
    writeFileSync(`${file}.lock`, "");
    utimesSync(`${file}.lock`, new Date(0), new Date(0));
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, (inside += 1));
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside -= 1;
    };
    // Storages of their own share nothing but the files, as processes do.
    await Promise.all(Array.from({ length: 8 }, async () => fileStorage(file).lock?.("a", work)));
    expect([most, inside]).toEqual([1, 0]);
    expect(readdirSync(join(folder, "deep"))).toEqual(["attempts.json"]);
  });

  it("held by a process that was paused too long are not released over its successor's head", async () => {
    await attemptsIn(file).create("a", 1);
    await fileStorage(file).lock?.("a", async () => {
      rmSync(`${file}.lock`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      writeFileSync(`${file}.lock`, "the successor's");
    });
    expect(readFileSync(`${file}.lock`, "utf8")).toBe("the successor's");
  });

  it("behind a lock that is held fail in time, with nothing sent", async () => {
    await attemptsIn(file).create("a", 1);
    writeFileSync(`${file}.lock`, "");
    const attempts = createAttempts({ storage: fileStorage(file, { lockTimeoutMs: 100 }), nowMs: Date.now });
    await expect(attempts.create("b", 1)).rejects.toMatchObject({ code: "storage-failed" });
  });

  it("in a damaged file are not forgotten silently", async () => {
    await attemptsIn(file).create("a", 1);
    for (const junk of ["{", "[]", "null"]) {
      writeFileSync(file, junk);
      await expect(attemptsIn(file).create("a", 1)).rejects.toMatchObject({ code: "storage-failed" });
    }
  });

  it("need a path", () => {
    expect(() => fileStorage("")).toThrow("path of a file");
  });
});
