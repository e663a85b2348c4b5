/** `ichido/client/node`: attempts that outlive the process, in a file. */
import { expectNames } from "./client-options.ts";
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { ClientError } from "./errors.ts";
import { takeLockFile } from "./lock-file.ts";
import type { AttemptStorage } from "./storage.ts";

export interface FileStorageOptions {
  /** How long to wait for another process that is writing. Default 10 000. */
  readonly lockTimeoutMs?: number;
}

/** The new name, too, must survive a power cut: the key is sent right after this. */
async function flushFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // Windows cannot flush a folder, and need not.
  }
}

/**
 * One JSON file, readable by its owner alone. It is replaced as a whole (written beside, flushed, renamed), so a crash
 * leaves the old or the new one. Processes that share it write one after the other, under a lock file beside it.
 */
export function fileStorage(path: string, options: FileStorageOptions = {}): AttemptStorage {
  if (typeof path !== "string" || path === "") {
    throw new ClientError("option-invalid", `option path: expected the path of a file, got ${JSON.stringify(path)}`);
  }
  expectNames("fileStorage", options, "lockTimeoutMs");
  const file = resolve(path);
  const lockTimeoutMs = options.lockTimeoutMs ?? 10_000;
  let last: Promise<unknown> = Promise.resolve();

  async function readAll(): Promise<Record<string, string>> {
    let text: string;
    try {
      text = await readFile(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw error;
    }
    // A file that cannot be read may hold open attempts: if they were forgotten, effects could happen twice.
    const items: unknown = JSON.parse(text);
    if (typeof items !== "object" || items === null || Array.isArray(items))
      throw new Error(`${file} holds no attempts`);
    return items as Record<string, string>;
  }

  async function writeAll(items: Record<string, string>): Promise<void> {
    await mkdir(dirname(file), { recursive: true });
    const beside = `${file}.${randomBytes(6).toString("hex")}.tmp`;
    const handle = await open(beside, "wx", 0o600);
    try {
      await handle.writeFile(JSON.stringify(items));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, file);
    await flushFolder(dirname(file));
  }

  const change = async (edit: (items: Record<string, string>) => void): Promise<void> => {
    const items = await readAll();
    edit(items);
    await writeAll(items);
  };

  return {
    getItem: async (name) => (await readAll())[name],
    setItem: (name, value) => change((items) => void (items[name] = value)),
    removeItem: (name) => change((items) => void delete items[name]),
    lock(_name, work) {
      const next = last.then(async () => {
        await mkdir(dirname(file), { recursive: true });
        const release = await takeLockFile(`${file}.lock`, lockTimeoutMs);
        try {
          return await work();
        } finally {
          await release();
        }
      });
      last = next.catch(() => undefined);
      return next;
    },
  };
}
