/** A storm in one lane: its buyers, and what was counted of them. */
import { memoryStorage } from "ichido/client";
import { pay } from "./buyer.ts";
import type { Charge, GrowthSample, LaneName } from "./contract.ts";
import type { World } from "./playground.ts";
import { armDrop } from "./runs.ts";
import type { Blow } from "./storm-plan.ts";
import { createTally, type Tally } from "./storm-tally.ts";
import { laneStorm, type Bought, type LaneStorm } from "./storm-view.ts";

export interface LaneState {
  readonly lane: LaneName;
  readonly bought: Bought[];
  readonly tally: Tally;
  /** What the databases held when its turn came, and the last time that they were asked. */
  readonly first: GrowthSample;
  last: GrowthSample;
  readonly restartsBefore: number;
  bytes: number | undefined;
}

interface Blowing {
  readonly plan: readonly Blow[];
  /** How its runs begin. */
  readonly name: string;
  readonly concurrency: number;
  readonly isStopping: () => boolean;
}

const SAMPLE_MS = 500;

/** As it is before the first buyer comes. */
export async function readLane(world: World, lane: LaneName, name: string): Promise<LaneState> {
  const { process: child } = world.lanes[lane];
  await child.up();
  const first = await world.growth.sample();
  const tally = createTally(lane, name, Date.now());
  return { lane, bought: [], tally, first, last: first, restartsBefore: child.restarts, bytes: undefined };
}

export async function blowOver(world: World, held: LaneState, blowing: Blowing): Promise<void> {
  const { lane, first } = held;
  const { proxy, process: child } = world.lanes[lane];
  const sample = async (): Promise<void> => {
    held.last = await world.growth.sample();
  };
  const watching = setInterval(() => void sample().catch(() => undefined), SAMPLE_MS);
  await buyAll(world, held, blowing).finally(() => clearInterval(watching));
  proxy.heal();
  await child.disarm();
  await child.up();
  await sample();
  held.bytes = held.last.lanes[lane].bytes - first.lanes[lane].bytes;
}

async function buyAll(world: World, { lane, bought }: LaneState, blowing: Blowing): Promise<void> {
  const { plan, name, concurrency, isStopping } = blowing;
  let next = 0;
  const buyer = async (): Promise<void> => {
    while (next < plan.length && !isStopping()) {
      const at = next;
      next += 1;
      bought.push(await buyOne(world, lane, plan[at] ?? { kind: "none" }, `${name}-${at}`));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, buyer));
}

/** What is armed strikes whichever payment comes next: with several buyers at once, perhaps a neighbour's. */
async function buyOne(world: World, lane: LaneName, blow: Blow, run: string): Promise<Bought> {
  const { proxy, process: child } = world.lanes[lane];
  const cart = { run, orderId: `order-${run}`, amount: 4_200, currency: "EUR" };
  const parts = { baseUrl: proxy.url, storage: memoryStorage() };
  if (blow.kind === "kill") await child.killAt(blow.point).catch(() => undefined);
  if (blow.kind === "database-drop") await armDrop(world, lane).catch(() => undefined);
  if (blow.kind === "cut-before-arrival") proxy.cut("before-arrival");
  if (blow.kind === "cut-after-answer") proxy.cut("after-answer");
  const beganMs = performance.now();
  const clicks = blow.kind === "double-click" ? 2 : 1;
  const said = await Promise.all(Array.from({ length: clicks }, () => pay(lane, cart, parts)));
  return { run, paid: said.some(({ paid }) => paid), tookMs: performance.now() - beganMs };
}

export function countsOf(
  world: World,
  { lane, bought, tally, restartsBefore, bytes }: LaneState,
  charges: readonly Charge[],
): LaneStorm {
  const { arrivals, databaseDrops, takenOver } = tally;
  return laneStorm(bought, tally.chargesOf(charges), {
    restarts: world.lanes[lane].process.restarts - restartsBefore,
    arrivals,
    takenOver,
    ...(world.noServer === undefined ? { databaseDrops } : {}),
    ...(bytes === undefined ? {} : { bytes }),
  });
}
