/**
 * Two levels in alternating turns, so that whatever else the machine does hits both alike: alone, call by call; in a
 * crowd, turn by turn (base, own, own, base).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "../measure.ts";
import { someKey, type Bed } from "./bed.ts";
import { newKey } from "./keys.ts";
import { keyKindOf } from "./level.ts";
import { claim, complete, replay } from "./verbs.ts";

/** `replay`: of one of the last keys, as retries are. `any`: of any record of the level, which is the worst a cache can get. */
export const verbs = ["claim", "complete", "replay", "any"] as const;
export type Verb = (typeof verbs)[number];

export interface Quantiles {
  readonly calls: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export type Side = Readonly<Record<Verb, Quantiles>> & {
  /** New keys a second, from claim to completion, while nothing else was asked for. */
  readonly perSecond: number;
  /** Bytes of the server's log per new key, both writes of it. */
  readonly loggedPerKey?: number | undefined;
};

export interface Sides {
  readonly base: Side;
  readonly own: Side;
}

/** How many keys count as the last ones. */
const recentKeys = 1_000;

/** What one level's turns gave. */
class Tally {
  readonly #bed: Bed;
  readonly #ms: Readonly<Record<Verb, number[]>> = { claim: [], complete: [], replay: [], any: [] };
  #written: string[] = [];
  #newMs = 0;
  #logged: number | undefined;

  constructor(bed: Bed) {
    this.#bed = bed;
  }

  async #timed<Result>(verb: Verb, call: () => Promise<Result>): Promise<Result> {
    const startMs = performance.now();
    const result = await call();
    this.#ms[verb].push(performance.now() - startMs);
    return result;
  }

  async newKey(): Promise<void> {
    const { store, level, retentionMs } = this.#bed;
    const key = newKey(keyKindOf(level));
    const claimed = await this.#timed("claim", () => claim(store, key, retentionMs));
    await this.#timed("complete", () => complete(store, claimed));
    this.#written.push(key);
  }

  async replayRecent(): Promise<void> {
    const { length } = this.#written;
    const key = this.#written[length - 1 - Math.floor(Math.random() * Math.min(length, recentKeys))] ?? "";
    await this.#timed("replay", () => replay(this.#bed.store, key));
  }

  async replayAny(): Promise<void> {
    const key = someKey(this.#bed.level);
    await this.#timed("any", () => replay(this.#bed.store, key));
  }

  /** One after the other: claims would wait for the replays that travel with them. */
  async turn(callers: number, turnMs: number): Promise<void> {
    const before = await this.#bed.logged?.();
    this.#newMs += await callAll(callers, turnMs / 2, () => this.newKey());
    const after = await this.#bed.logged?.();
    if (before !== undefined && after !== undefined) this.#logged = (this.#logged ?? 0) + after - before;
    await callAll(callers, turnMs / 4, () => this.replayRecent());
    await callAll(callers, turnMs / 4, () => this.replayAny());
  }

  /** One caller, one call of each. */
  async once(): Promise<void> {
    this.#newMs += await callAll(1, 0, () => this.newKey());
    await this.replayRecent();
    await this.replayAny();
  }

  /** So that the level keeps its size. */
  async clear(): Promise<void> {
    await this.#bed.remove(this.#written);
    this.#written = [];
  }

  side(): Side {
    const of = (verb: Verb): Quantiles => {
      const ms = this.#ms[verb];
      return { calls: ms.length, p50Ms: quantile(ms, 0.5), p99Ms: quantile(ms, 0.99) };
    };
    const { length: calls } = this.#ms.claim;
    return {
      claim: of("claim"),
      complete: of("complete"),
      replay: of("replay"),
      any: of("any"),
      perSecond: (calls * 1_000) / this.#newMs,
      loggedPerKey: this.#logged === undefined ? undefined : this.#logged / calls,
    };
  }
}

/** How long it took. Each caller calls at least once. */
async function callAll(callers: number, ms: number, call: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  const caller = async (): Promise<void> => {
    do await call();
    while (performance.now() - startMs < ms);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return performance.now() - startMs;
}

export interface Pair {
  readonly base: Bed;
  readonly own: Bed;
}

const warmMs = 1_000;

/** Compiled code, full pools, prepared statements, and what a server that has run for long has in memory. */
export async function warm({ base, own }: Pair, callers: number): Promise<void> {
  for (const bed of [base, own]) {
    await bed.warm?.();
    const tally = new Tally(bed);
    await tally.turn(callers, warmMs);
    await tally.clear();
  }
}

/** One caller. The order of the two changes with every round. */
export async function alone(pair: Pair, seconds: number): Promise<Sides> {
  const [base, own] = [new Tally(pair.base), new Tally(pair.own)];
  const endMs = performance.now() + seconds * 1_000;
  for (let round = 0; performance.now() < endMs; round += 1) {
    for (const tally of round % 2 === 0 ? [base, own] : [own, base]) await tally.once();
  }
  for (const tally of [base, own]) await tally.clear();
  return { base: base.side(), own: own.side() };
}

const turnMs = 1_000;

/** `beside` runs during the own level's turns alone, and says when there is nothing left to do. */
export async function crowd(
  pair: Pair,
  callers: number,
  seconds: number,
  beside?: (isOver: () => boolean) => Promise<boolean>,
): Promise<Sides> {
  const [base, own] = [new Tally(pair.base), new Tally(pair.own)];
  const rounds = Math.max(1, Math.round((seconds * 1_000) / (4 * turnMs)));
  let more = true;
  for (let round = 0; round < rounds && more; round += 1) {
    for (const tally of [base, own, own, base]) {
      let isOver = false;
      const working = tally === own ? beside?.(() => isOver) : undefined;
      await tally.turn(callers, turnMs);
      isOver = true;
      more = (await working) ?? more;
      await tally.clear();
      await sleep(10);
    }
  }
  return { base: base.side(), own: own.side() };
}
