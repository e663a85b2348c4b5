/** What befalls the line between a server and the store. */
import { setTimeout as sleep } from "node:timers/promises";
import type { CutRule } from "../../packages/ichido/src/testing/fault-proxy.ts";
import type { Backend } from "../backends/backend.ts";
import { leaseMs } from "../settings.ts";
import { victimIn, type Fault, type Scene } from "./fault.ts";

/** A cut that nothing passed by then is taken back. */
const armedMs = 1_500;

/** Fires when the bytes pass, and so only while a call is under way. */
async function cut(scene: Scene, rule: CutRule): Promise<boolean> {
  const { proxy } = victimIn(scene) ?? {};
  if (proxy === undefined) return false;
  const armed = proxy.cut(rule);
  const timer = new AbortController();
  await Promise.race([armed.fired, sleep(armedMs, undefined, { signal: timer.signal }).catch(() => undefined)]);
  timer.abort();
  armed.disarm();
  return armed.count > 0;
}

function cutting(name: string, everyMs: number, pattern: CutRule["pattern"], place: CutRule["place"]): Fault {
  return {
    name,
    everyMs,
    strike(scene) {
      const how = scene.random.pick(["reset", "reset", "end", "blackhole"] as const);
      return cut(scene, { direction: "to-server", pattern, place, how });
    },
  };
}

/** Replies come, but late. */
const late: Fault = {
  name: "reply-late",
  everyMs: 900,
  async strike({ fleet, random }) {
    const berth = random.pick(fleet.berths);
    const wasUnderWay = berth.underWay > 0;
    for (const connection of berth.proxy?.connections ?? []) {
      if (random.chance(0.5)) connection.faults({ toClient: { delayMs: random.int(50, leaseMs) } });
    }
    await sleep(random.int(200, 600));
    for (const connection of berth.proxy?.connections ?? []) connection.faults({});
    return wasUnderWay;
  },
};

/** Open on both sides and dead between them; nobody is told. */
const halfOpen: Fault = {
  name: "half-open",
  everyMs: 1_800,
  async strike({ fleet, random }) {
    const berth = random.pick(fleet.berths);
    const wasUnderWay = berth.underWay > 0;
    for (const connection of berth.proxy?.connections ?? []) {
      if (random.chance(0.3)) connection.faults({ toServer: { blackhole: true }, toClient: { blackhole: true } });
    }
    return wasUnderWay;
  },
};

/** Nothing passes for longer than a lease, then all of it. */
const partition: Fault = {
  name: "partition",
  everyMs: 3_000,
  async strike({ fleet, random }) {
    const berth = random.pick(fleet.berths);
    const wasUnderWay = berth.underWay > 0;
    berth.proxy?.admit("hang");
    berth.proxy?.faults({ toServer: { stall: true }, toClient: { stall: true } });
    await sleep(random.between(leaseMs * 0.7, leaseMs * 1.6));
    berth.proxy?.heal();
    return wasUnderWay;
  },
};

/** Those that a line like this can suffer. */
export function lineFaultsOf({
  key,
  commit,
}: Omit<NonNullable<Backend["line"]>, "key"> & { readonly key: CutRule["pattern"] }): readonly Fault[] {
  return [
    cutting("request-lost", 900, key, "before"),
    cutting("reply-lost", 500, key, "after"),
    ...(commit === undefined
      ? []
      : [cutting("cut-before-commit", 700, commit, "before"), cutting("cut-after-commit", 500, commit, "after")]),
    late,
    halfOpen,
    partition,
  ];
}
