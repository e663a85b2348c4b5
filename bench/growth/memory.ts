/** Levels in the memory of this process: nothing is kept, so each is made where it is opened. */
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { memoryStore } from "ichido/memory";
import { keyIn, type Bed, type Place } from "./bed.ts";
import type { Level } from "./level.ts";
import { write } from "./verbs.ts";

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let time = 0; time < 3; time += 1) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Room for the keys that are measured: at its bound the store would refuse them. */
const roomForMeasured = 1_000_000;
/** Of expired records. */
const shortRetentionMs = 1;
/** Of keys that are measured: longer than it takes, and short beside that of the level. */
const measuredRetentionMs = 3_600_000;
const tickMs = 1_000;
const evenTicks = 5;

async function openBed(level: Level): Promise<Bed> {
  const bounds = { recordsMax: level.rows + roomForMeasured, bytesMax: 2 ** 34, scopeShareMax: 1 };
  let aheadMs = 0;
  const store = memoryStore({ ...bounds, nowMs: () => Date.now() + aheadMs });
  const bed: Bed = {
    level,
    store,
    retentionMs: measuredRetentionMs,
    async add(from, to, isExpired) {
      for (let number = from; number <= to; number += 1)
        await write(store, keyIn(level, number), isExpired ? shortRetentionMs : undefined);
      if (isExpired) await sleep(2 * shortRetentionMs);
    },
    /** By the store's own sweep, whose clock is put forward here. */
    async remove() {
      aheadMs += measuredRetentionMs;
      for (let tick = 0; tick < evenTicks; tick += 1) {
        aheadMs += tickMs;
        await store.tick({ intervalMs: tickMs });
      }
      await store.sweep({ limit: roomForMeasured, budgetMs: 60_000 });
    },
    likenessOf: async () => undefined,
    bytes: async () => ({ all: heapBytes() }),
    close: async () => store.close(),
  };
  return bed;
}

export async function memoryPlace(): Promise<Place> {
  return {
    store: "memory",
    version: `Node ${process.version}`,
    settings: "bounds raised by the keys that are measured",
    create: openBed,
    async open(level) {
      const bed = await openBed(level);
      await bed.add(1, level.rows, false);
      return bed;
    },
    close: async () => {},
  };
}
