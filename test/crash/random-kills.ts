/**
 * A process that works on many operations at once is killed by SIGKILL, after a random time or at a random passing of a
 * random point; then each operation it had begun is asked for again until it has its answer, and the ledgers are counted.
 */
import { fakeProvider, faultsToEnv, spawnChild } from "ichido/testing";
import type { Child, FakeProvider, FaultName } from "ichido/testing";
import { caller } from "../effects/callers.ts";
import type { Caller } from "../effects/callers.ts";
import type { Side } from "../effects/databases.ts";
import { eventually } from "../support/eventually.ts";
import { inOneFile } from "../support/in-one-file.ts";
import { points as byScenario } from "./fault-points.ts";
import type { AnyBench } from "./redis-bench.ts";
import { handlerOf } from "./matrix-shop.ts";
import type { Defect, Scenario } from "./matrix-shop.ts";

export interface Operation {
  readonly key: string;
  readonly scenario: Scenario;
  readonly amount: number;
}

export interface Kill {
  readonly point?: FaultName;
  readonly nth?: number;
  /** After the process is at work. With a point: when that was not passed by then. */
  readonly afterMs: number;
}

export interface Tally {
  kills: number;
  atPoints: number;
  operations: number;
  /** Begun and unanswered when the process died. */
  underWay: number;
  replayed: number;
  readonly violations: string[];
}

const points: readonly FaultName[] = [...new Set([...byScenario.pays, ...byScenario.fails])];
/** Operations that one process works on at a time. */
const lanesEach = 4;
const nthMax = 8;
const delayMsMax = 900;
const pointMsMax = 3_000;
const answeredWithinMs = 60_000;
/** Of whoever asks again. Longer than the victims': on a busy machine a short one is lost before the handler starts. */
const againLeaseMs = 10_000;

export function randomKill(random: () => number): Kill {
  if (random() < 0.5) return { afterMs: Math.floor(random() * delayMsMax) };
  const point = points[Math.floor(random() * points.length)] as FaultName;
  return { point, nth: 1 + Math.floor(random() * nthMax), afterMs: pointMsMax };
}

export interface Killing {
  readonly tally: Tally;
  /** One life and death of a process, and what became of its operations. */
  run(kill: Kill, seed: number, defect?: Defect): Promise<void>;
  close(): Promise<void>;
}

export async function createKilling(bench: AnyBench): Promise<Killing> {
  const side: Side = bench.side();
  const shop: Caller = caller(side, { leaseMs: againLeaseMs });
  const provider: FakeProvider = await fakeProvider();
  const tally: Tally = { kills: 0, atPoints: 0, operations: 0, underWay: 0, replayed: 0, violations: [] };
  const ordersInStore = bench.dialect !== "redis";
  let lives = 0;

  async function spawn(seed: number, defect: Defect, faults: Readonly<Record<string, string>>): Promise<Child> {
    lives += 1;
    const args = [bench.dialect, bench.url, provider.url, `life-${lives}`, seed, defect, lives * 10_000, lanesEach];
    return spawnChild(await inOneFile(new URL("./random-kills.child.ts", import.meta.url)), {
      args: args.map(String),
      env: { ICHIDO_FAULTS: undefined, ...faults },
    });
  }

  async function settle(operation: Operation, told: string | undefined): Promise<void> {
    const { key, scenario, amount } = operation;
    const handler = handlerOf(scenario, key, provider.url, amount, ordersInStore);
    const mode = scenario === "orders" ? "transaction" : "lease";
    let faults: string[] = [];
    try {
      const answer = await eventually(async () => {
        const again = await shop.ask(key, handler, { mode }, { amount });
        if (again.status !== 201) throw new Error(`still ${again.status} ${again.text}`);
        return again;
      }, answeredWithinMs);
      if (answer.replayed) tally.replayed += 1;
      if (told !== undefined && told !== answer.text) faults.push(`told ${told}, then ${answer.text}`);
    } catch (error) {
      faults = [`no answer: ${String(error)}`];
    }
    const charges = provider.ledger().filter((entry) => entry.amount === amount).length;
    const orders = (await bench.effects(key)).length;
    const { records } = await side.store.list({ key, limit: 1 });
    if (charges !== (scenario === "orders" ? 0 : 1)) faults.push(`${charges} charges`);
    if (orders !== Number(ordersInStore)) faults.push(`${orders} orders`);
    if (records[0]?.state !== "completed") faults.push(`record ${records[0]?.state ?? "absent"}`);
    if (faults.length > 0) tally.violations.push(`${scenario} ${key}: ${faults.join(", ")}`);
  }

  async function diesAtPoint(child: Child, kill: Kill): Promise<boolean> {
    let byTime = false;
    const timer = setTimeout(() => {
      byTime = true;
      void child.kill();
    }, kill.afterMs);
    const { signal } = await child.exited;
    clearTimeout(timer);
    if (signal !== "SIGKILL") throw new Error(`the process ended by itself:\n${child.lines.slice(-20).join("\n")}`);
    return !byTime;
  }

  return {
    tally,
    async run(kill, seed, defect = "none") {
      const faults = kill.point === undefined ? {} : faultsToEnv(kill.point, "kill", kill.nth);
      const child = await spawn(seed, defect, faults);
      await child.waitFor(/^ready$/, 60_000);
      if (await diesAtPoint(child, kill)) tally.atPoints += 1;
      tally.kills += 1;
      const operations = new Map<string, Operation>();
      const told = new Map<string, string>();
      for (const line of child.lines) {
        const [, what, json = ""] = /^(asked|answered) (\{.*\})$/.exec(line) ?? [];
        if (what === "asked") {
          const operation = JSON.parse(json) as Operation;
          operations.set(operation.key, operation);
        } else if (what === "answered") {
          const { key, text } = JSON.parse(json) as { key: string; text: string };
          told.set(key, text);
        }
      }
      tally.operations += operations.size;
      tally.underWay += operations.size - told.size;
      await Promise.all([...operations.values()].map((operation) => settle(operation, told.get(operation.key))));
    },
    async close() {
      await shop.ichido.close();
      await side.close();
      await provider.close();
    },
  };
}

export function summaryOf(name: string, seed: number, tally: Tally): string {
  const { kills, atPoints, operations, underWay, replayed, violations } = tally;
  return (
    `random kills, ${name}, seed ${seed}: ${kills} kills (${atPoints} at named points), ${operations} operations, ` +
    `${underWay} under way when killed, ${replayed} replayed, ${violations.length} violations`
  );
}
