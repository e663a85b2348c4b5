/** What befalls the line between a server and the store. */
import { setTimeout as sleep } from "node:timers/promises";
import type { CutRule, ProxiedConnection } from "../../packages/ichido/src/testing/fault-proxy.ts";
import type { Backend } from "../backends/backend.ts";
import { leaseMs } from "../settings.ts";
import { victimIn, type Fault, type Scene, type Victim } from "./fault.ts";

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

const askedAgainMs = 20;

/** What faults of these lines did to bytes; of a line to which none came they did nothing. */
const disturbedOn = (lines: readonly ProxiedConnection[]): number =>
  lines.reduce((sum, { bytesDisturbed }) => sum + bytesDisturbed, 0);

/** Of a server's lines some, each by this chance. */
function someLines({ proxy }: Victim, random: Scene["random"], chance: number): readonly ProxiedConnection[] {
  return (proxy?.connections ?? []).filter(() => random.chance(chance));
}

/** Replies come, but late. */
const late: Fault = {
  name: "reply-late",
  everyMs: 700,
  async strike({ fleet, random }) {
    const berth = random.pick(fleet.berths);
    const wasUnderWay = berth.underWay > 0;
    const struck = someLines(berth, random, 0.5);
    const before = disturbedOn(struck);
    for (const line of struck) line.faults({ toClient: { delayMs: random.int(50, leaseMs) } });
    await sleep(random.int(200, 600));
    for (const line of struck) line.faults({});
    return wasUnderWay && disturbedOn(struck) > before;
  },
};

/** Open on both sides and dead between them; nobody is told. */
const halfOpen: Fault = {
  name: "half-open",
  everyMs: 1_200,
  async strike({ fleet, random }) {
    const berth = random.pick(fleet.berths);
    const wasUnderWay = berth.underWay > 0;
    const struck = someLines(berth, random, 0.4);
    const before = disturbedOn(struck);
    for (const line of struck) line.faults({ toServer: { blackhole: true }, toClient: { blackhole: true } });
    if (!wasUnderWay || struck.length === 0) return false;
    // Whoever uses one of them next loses what is sent.
    for (let waitedMs = 0; disturbedOn(struck) === before && waitedMs < armedMs; waitedMs += askedAgainMs)
      await sleep(askedAgainMs);
    return disturbedOn(struck) > before;
  },
};

/** Nothing passes for longer than a lease, then all of it. */
const partition: Fault = {
  name: "partition",
  everyMs: 2_500,
  async strike({ fleet, random }) {
    const { proxy, underWay } = random.pick(fleet.berths);
    if (proxy === undefined) return false;
    const { connections, counts } = proxy;
    const before = disturbedOn(connections);
    proxy.admit("hang");
    proxy.faults({ toServer: { stall: true }, toClient: { stall: true } });
    await sleep(random.between(leaseMs * 0.7, leaseMs * 1.6));
    const isHarmed = disturbedOn(connections) > before || proxy.counts.hung > counts.hung;
    proxy.heal();
    return underWay > 0 && isHarmed;
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
