/** A file. What would befall a server befalls the connection of every process, by an order to each. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { reapAfterDeath } from "../../packages/ichido/src/testing/reaper.ts";
import { policies } from "../policies.ts";
import type { Backend, Order } from "./backend.ts";

const lockTries = 200;

/** The others hold it most of the time; whoever asks often gets it in between. */
async function begin(database: DatabaseSync): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return database.exec("BEGIN IMMEDIATE");
    } catch (error) {
      if (tries === lockTries) throw error;
      await sleep(10);
    }
  }
}

const bytesOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

export async function startSqlite(order: Order, noRoom: () => number): Promise<Backend> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-chaos-"));
  const will = reapAfterDeath({ folder });
  const file = join(folder, "chaos.db");
  const outside = new DatabaseSync(file, { timeout: 1 });
  outside.exec("PRAGMA journal_mode = WAL");
  return {
    url: file,
    policies,
    readOnly: async (on) => order(`store readonly ${Number(on)}`),
    full: async (on) => order(`store full ${Number(on)}`),
    refused: noRoom,
    leap: async (ms) => order(`store leap ${ms}`),
    async lock(ms) {
      await begin(outside);
      try {
        await sleep(ms);
      } finally {
        outside.exec("ROLLBACK");
      }
    },
    bytes: async () => bytesOf(file) + bytesOf(`${file}-wal`),
    async stop() {
      outside.close();
      rmSync(folder, { recursive: true, force: true });
      will.forget();
    },
  };
}
