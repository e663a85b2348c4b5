import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fileStorage } from "./node.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ichido-file-"));
  file = join(folder, "deep", "attempts.json");
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

/** What flushes a file, or a folder: all handles share it. */
async function handlePrototype(): Promise<FileHandle> {
  const handle = await open(folder, "r");
  await handle.close();
  return Object.getPrototypeOf(handle) as FileHandle;
}

describe("a storage in a file", () => {
  it("has nothing before it was written, and makes no file for a look", async () => {
    expect(await fileStorage(file).getItem("a")).toBeUndefined();
    expect(existsSync(join(folder, "deep"))).toBe(false);
  });

  it("keeps items for whoever opens it next, and forgets the one that is removed", async () => {
    const storage = fileStorage(file);
    await storage.setItem("a", "1");
    await storage.setItem("鍵", "é");
    await storage.setItem("a", "2");
    const next = fileStorage(file);
    expect([await next.getItem("a"), await next.getItem("鍵")]).toEqual(["2", "é"]);
    await next.removeItem("a");
    expect([await storage.getItem("a"), await storage.getItem("鍵")]).toEqual([undefined, "é"]);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ 鍵: "é" });
    expect(readdirSync(join(folder, "deep")), "nothing is left beside it").toEqual(["attempts.json"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("flushes the new file before it takes the name, and the folder after, and closes both", async () => {
    const flushed: (readonly [kind: string, hasName: boolean])[] = [];
    const handles: FileHandle[] = [];
    vi.spyOn(await handlePrototype(), "sync").mockImplementation(async function (this: FileHandle) {
      flushed.push([(await this.stat()).isDirectory() ? "folder" : "file", existsSync(file)]);
      handles.push(this);
    });
    await fileStorage(file).setItem("a", "1");
    expect(flushed).toEqual([
      ["file", false],
      ["folder", true],
    ]);
    expect(handles.map(({ fd }) => fd)).toEqual([-1, -1]);
  });

  it("takes a folder that cannot be flushed, as on Windows, and no file that cannot", async () => {
    const storage = fileStorage(file);
    const failing = { kind: "folder" };
    vi.spyOn(await handlePrototype(), "sync").mockImplementation(async function (this: FileHandle) {
      if ((await this.stat()).isDirectory() === (failing.kind === "folder")) throw new Error("EPERM");
    });
    await storage.setItem("a", "1");
    failing.kind = "file";
    await expect(storage.setItem("a", "2")).rejects.toThrow("EPERM");
    expect(await storage.getItem("a")).toBe("1");
  });

  it("runs the work of its lock one after the other, also after one that failed, and gives back what it made", async () => {
    const storage = fileStorage(file);
    const order: string[] = [];
    const work = (name: string) => async (): Promise<string> => {
      order.push(`${name} begins`, existsSync(`${file}.lock`) ? "locked" : "open");
      await new Promise((resolve) => setTimeout(resolve, 5));
      order.push(`${name} ends`);
      if (name === "b") throw new Error("boom");
      return name;
    };
    const all = ["a", "b", "c"].map(async (name) => storage.lock?.("n", work(name)));
    expect(await Promise.allSettled(all)).toEqual([
      { status: "fulfilled", value: "a" },
      { status: "rejected", reason: new Error("boom") },
      { status: "fulfilled", value: "c" },
    ]);
    expect(order).toEqual(["a", "b", "c"].flatMap((name) => [`${name} begins`, "locked", `${name} ends`]));
    expect(existsSync(`${file}.lock`)).toBe(false);
  });

  it.each(["{", "[]", "null", "7", '"text"'])("that holds %s is not taken for an empty one", async (text) => {
    mkdirSync(join(folder, "deep"));
    writeFileSync(file, text);
    const storage = fileStorage(file);
    const message = text === "{" ? /JSON/ : /holds no attempts/;
    await expect(storage.getItem("a")).rejects.toThrow(message);
    await expect(storage.setItem("a", "1")).rejects.toThrow(message);
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("that cannot be read fails, and is not taken for one that is not there", async () => {
    mkdirSync(file, { recursive: true });
    await expect(fileStorage(file).getItem("a")).rejects.toMatchObject({ code: "EISDIR" });
  });

  it("waits for the lock of another no longer than it was told", async () => {
    mkdirSync(join(folder, "deep"));
    writeFileSync(`${file}.lock`, "");
    const beganMs = performance.now();
    const locked = fileStorage(file, { lockTimeoutMs: 60 }).lock?.("n", async () => 1);
    await expect(locked).rejects.toMatchObject({ code: "storage-failed" });
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(59);
  });

  it.each([undefined, "", 7, null])("refuses %j as its path", (path) => {
    expect(() => fileStorage(path as string)).toThrow(
      expect.objectContaining({ code: "option-invalid", message: expect.stringContaining("path of a file") as string }),
    );
  });

  it("names an option that it does not know", () => {
    expect(() => fileStorage(file, { lockTimeout: 5 } as never)).toThrow(/fileStorage.*lockTimeoutMs/);
  });
});
