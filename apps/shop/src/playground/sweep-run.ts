/**
 * A sweep that can be watched: a lane of its own with a short retention is paid at, waits until its keys have expired, and
 * sweeps; then it is paid at once more. Its database is asked all the while.
 */
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { memoryStorage } from "ichido/client";
import { pay } from "./buyer.ts";
import type { SweepSample, SweepView } from "./contract.ts";
import { openData, type PlaygroundData } from "./data.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import { COUNT_KEYS } from "./growth.ts";
import { startLaneProcess } from "./lane-process.ts";
import type { World } from "./playground.ts";

const PAYMENTS = 60;
const BUYERS = 6;
const RETENTION_MS = 1_000;
const LOOK_MS = 100;
/** Clocks are not believed to the millisecond. */
const CLOCK_MS = 500;
const SWEEPS_MS_MAX = 30_000;

export async function runSweep(world: World): Promise<SweepView> {
  const run = `sweep-${randomUUID().slice(0, 8)}`;
  const folder = join(world.folder, run);
  await mkdir(folder);
  const variables = { LANE_RETENTION_MS: String(RETENTION_MS) };
  const child = await startLaneProcess("protected", { folder, bankUrl: world.bank.url, variables }, world.log);
  const proxy = await startFaultProxy({ lane: "protected", log: world.log, target: () => child.port });
  const data = await openData(folder, undefined);
  const watch = watchOf(data);
  try {
    await payMany(proxy.url, `${run}-a`);
    await sleep(RETENTION_MS + CLOCK_MS);
    const sweptFromMs = await watch.now();
    const deleted = await sweepAll(`http://127.0.0.1:${child.port}`);
    const sweptUntilMs = await watch.now();
    await payMany(proxy.url, `${run}-b`);
    return {
      payments: PAYMENTS,
      retentionMs: RETENTION_MS,
      deleted,
      sweptFromMs,
      sweptUntilMs,
      samples: await watch.end(),
      ask: data.ask("protected", COUNT_KEYS),
    };
  } finally {
    await watch.end();
    await proxy.close();
    await child.stop();
    await data.close();
  }
}

async function payMany(baseUrl: string, name: string): Promise<void> {
  let next = 0;
  const buyer = async (): Promise<void> => {
    while (next < PAYMENTS) {
      next += 1;
      const run = `${name}-${next}`;
      const cart = { run, orderId: `order-${run}`, amount: 4_200, currency: "EUR" };
      await pay("protected", cart, { baseUrl, storage: memoryStorage() });
    }
  };
  await Promise.all(Array.from({ length: BUYERS }, buyer));
}

/** A sweep is bounded: again, until all that was paid is gone. */
async function sweepAll(laneUrl: string): Promise<number> {
  let deleted = 0;
  for (const deadline = Date.now() + SWEEPS_MS_MAX; deleted < PAYMENTS && Date.now() < deadline;) {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${laneUrl}/sweep`, { method: "POST", headers, body: "{}" });
    deleted += ((await answer.json()) as { readonly deleted: number }).deleted;
    if (deleted < PAYMENTS) await sleep(LOOK_MS);
  }
  return deleted;
}

/** Looks again and again until its end; `now` looks at this moment and tells when that is. */
function watchOf(data: PlaygroundData) {
  const samples: SweepSample[] = [];
  const beganMs = Date.now();
  let isOver = false;
  const look = async (): Promise<number> => {
    const keys = await data.count("protected", COUNT_KEYS);
    const [bytes, bytesInUse] = [await data.bytes("protected"), await data.bytesInUse("protected")];
    const atMs = Date.now() - beganMs;
    samples.push({ atMs, keys, bytes, bytesInUse });
    return atMs;
  };
  const loop = async (): Promise<void> => {
    while (!isOver) {
      await look();
      await sleep(LOOK_MS);
    }
  };
  const looking = loop();
  looking.catch(() => undefined);
  return {
    now: look,
    async end(): Promise<readonly SweepSample[]> {
      if (!isOver) await look();
      isOver = true;
      await looking;
      return samples;
    },
  };
}
