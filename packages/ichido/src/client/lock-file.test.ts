import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockStaleMs, takeLockFile } from "./lock-file.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ichido-lock-"));
  path = join(folder, "a.lock");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function leave(name: string, agoMs: number, text = ""): void {
  writeFileSync(name, text);
  const at = new Date(Date.now() - agoMs);
  utimesSync(name, at, at);
}

const longAgoMs = lockStaleMs + 60_000;
const refused = { code: "storage-failed", message: expect.stringContaining("held by another process") as string };

describe("a lock file", () => {
  it("is there while it is held, for its owner's eyes alone, and gone after", async () => {
    const release = await takeLockFile(path, 0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await release();
    expect(existsSync(path)).toBe(false);
    await release();
  });

  it("is waited for, and taken once it is free", async () => {
    const release = await takeLockFile(path, 0);
    const next = takeLockFile(path, 5_000);
    let isTaken = false;
    void next.then(() => (isTaken = true));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(isTaken).toBe(false);
    await release();
    await (
      await next
    )();
    expect(existsSync(path)).toBe(false);
  });

  it("that is young is not taken away: whoever waits gives up and names it", async () => {
    leave(path, lockStaleMs - 2_000, "another's");
    await expect(takeLockFile(path, 50)).rejects.toMatchObject(refused);
    await expect(takeLockFile(path, 0)).rejects.toThrow(path);
    expect(readFileSync(path, "utf8")).toBe("another's");
  });

  it("that a dead process left is taken, and nothing stays of the taking", async () => {
    leave(path, longAgoMs, "the dead one's");
    const release = await takeLockFile(path, 0);
    expect(readFileSync(path, "utf8")).toBe("");
    expect(existsSync(`${path}.stale`)).toBe(false);
    await release();
    expect(existsSync(path)).toBe(false);
  });

  it("in a folder that is not there fails at once", async () => {
    await expect(takeLockFile(join(folder, "none", "a.lock"), 5_000)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("is not released over the head of a successor, nor where it is gone", async () => {
    const release = await takeLockFile(path, 0);
    rmSync(path);
    leave(path, 10, "the successor's");
    await release();
    expect(readFileSync(path, "utf8")).toBe("the successor's");
    rmSync(path);
    const again = await takeLockFile(path, 0);
    rmSync(path);
    await again();
    expect(existsSync(path)).toBe(false);
  });
});

describe("the right to take a stale lock away", () => {
  const right = (): string => `${path}.stale`;

  it("belongs to one: while another has it, the lock stays", async () => {
    leave(path, longAgoMs, "the dead one's");
    leave(right(), 0, "another's right");
    const taking = takeLockFile(path, 5_000);
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(readFileSync(path, "utf8")).toBe("the dead one's");
    expect(readFileSync(right(), "utf8")).toBe("another's right");
    rmSync(right());
    await (
      await taking
    )();
    expect([existsSync(path), existsSync(right())]).toEqual([false, false]);
  });

  it("that was left by a process that died over it is taken away, too", async () => {
    leave(path, longAgoMs);
    leave(right(), longAgoMs, "the dead one's right");
    await (
      await takeLockFile(path, 5_000)
    )();
    expect([existsSync(path), existsSync(right())]).toEqual([false, false]);
  });

  it("that was left, and is found by many at once, fails none of them", async () => {
    leave(path, longAgoMs);
    leave(right(), longAgoMs);
    // One step apart, so that one removes what another has just looked at.
    const takers = Array.from({ length: 8 }, async (_, steps) => {
      for (let step = 0; step < steps; step += 1) await new Promise(setImmediate);
      await (
        await takeLockFile(path, 5_000)
      )();
    });
    await Promise.all(takers);
    expect([existsSync(path), existsSync(right())]).toEqual([false, false]);
  });
});
