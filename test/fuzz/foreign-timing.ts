/**
 * `npm run fuzz:timing -- --requests N`: how long a request takes whose key somebody else has, beside one whose key nobody
 * sent, in turns drawn by lot; Welch's t tells whether the two differ by more than chance. Figures for people to read: no
 * test asserts a time. A control that looks a foreign key up once more shows how small a difference it sees.
 */
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { createIchido } from "../../packages/ichido/src/core/engine/create-ichido.ts";
import type { Store } from "../../packages/ichido/src/core/contract/store.ts";
import { memoryStore } from "../../packages/ichido/src/stores/memory/index.ts";
import { sqliteStore } from "../../packages/ichido/src/stores/sqlite/store.ts";
import { createRandom } from "../../simulation/random.ts";
import { wholeNumber } from "../../simulation/arguments.ts";
import { ask, giveBack, leave, states, type Caller } from "./foreign-callers.ts";
import { must } from "./target.ts";

const { values } = parseArgs({
  options: { requests: { type: "string", default: "20000" }, seed: { type: "string", default: "1" } },
});
/** Of each of the two kinds. */
const requests = wholeNumber("requests", values.requests, 100);
const random = createRandom(wholeNumber("seed", values.seed, 0));

/** Far more than a request needs: pauses of the process, and of the machine. */
const keptOf = 0.95;
/** By convention of timing tests (dudect); what chance alone gives is within 2 nineteen times of twenty. */
const tellingT = 4.5;

const kinds = ["foreign", "unknown"] as const;
type Times = Readonly<Record<(typeof kinds)[number], number[]>>;

interface Moments {
  readonly count: number;
  readonly mean: number;
  readonly variance: number;
}

function momentsOf(times: readonly number[]): Moments {
  const count = times.length;
  const mean = times.reduce((sum, each) => sum + each, 0) / count;
  const variance = times.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (count - 1);
  return { count, mean, variance };
}

/** The slowest of both are left out by one bound, or the kind with more pauses would look slower. */
function told(what: string, times: Times): string {
  const all = kinds.flatMap((kind) => times[kind]).toSorted((a, b) => a - b);
  const bound = all[Math.floor(all.length * keptOf)] ?? 0;
  const [foreign, unknown] = kinds.map((kind) => momentsOf(times[kind].filter((each) => each <= bound))) as [
    Moments,
    Moments,
  ];
  const error = Math.sqrt(foreign.variance / foreign.count + unknown.variance / unknown.count);
  const byUs = foreign.mean - unknown.mean;
  const t = byUs / error;
  const us = (value: number): string => value.toFixed(2);
  const means = `foreign ${us(foreign.mean)} µs, unknown ${us(unknown.mean)} µs`;
  const verdict = Math.abs(t) < tellingT ? "not told apart" : "TOLD APART";
  return `${what}: ${means}, differ by ${us(byUs)} ± ${us(1.96 * error)} µs, t ${t.toFixed(1)}: ${verdict}`;
}

const warmUps = 500;
/** Drawn, and each asked for once: keys in an order would be written into an index faster than others. */
const newKey = (): string => Buffer.from(random.bytes(16)).toString("hex");

async function measure(store: Store): Promise<Times> {
  const ichido = createIchido<Caller>({
    store,
    scope: ({ principal }) => ({ principal }),
    onUnknown: "rerun",
    sweepMs: "off",
    attemptLog: false,
    onEvent: () => {},
  });
  const draw = (): string[] => Array.from({ length: requests + warmUps }, newKey);
  const keys = { foreign: draw(), unknown: draw() };
  for (const key of keys.foreign) await leave(ichido, key, random.pick(states), random.bytes(200));
  const times: Times = { foreign: [], unknown: [] };
  for (let number = 0; number < requests + warmUps; number += 1) {
    const order = random.chance(0.5) ? kinds : kinds.toReversed();
    for (const kind of order) {
      const key = keys[kind][number] ?? "";
      // By a new caller: nothing of theirs is in any cache.
      const principal = newKey();
      const sinceMs = performance.now();
      const decision = await ask(ichido, principal, key);
      const tookUs = (performance.now() - sinceMs) * 1_000;
      must(decision.kind === "execute", "a key of somebody else is not free", decision.kind);
      if (number >= warmUps) times[kind].push(tookUs);
      await giveBack(decision);
    }
  }
  await ichido.close();
  return times;
}

/** What an index by key alone would do: where somebody has the key, whoever asks for it first pays for one more look. */
function leaky(store: Store): Store {
  const owners = new Map<string, string | undefined>();
  return {
    ...store,
    async claim(request) {
      const { key, principal } = request.identity;
      if (owners.has(key) && owners.get(key) !== principal) await store.find(request.identity);
      owners.set(key, principal);
      return store.claim(request);
    },
  };
}

async function onSqlite(wrap = (store: Store): Store => store): Promise<Times> {
  const database = new DatabaseSync(":memory:");
  const store = sqliteStore(database);
  await store.migrate();
  const times = await measure(wrap(store));
  await store.close();
  database.close();
  return times;
}

console.log(told("memory", await measure(memoryStore({ recordsMax: 1_000_000 }))));
console.log(told("sqlite", await onSqlite()));
console.log(told("control, one more look in sqlite", await onSqlite(leaky)));
