/** The vectors as tests of one store. */
import type { expect as Expect, test as Test } from "vitest";
import type { WholeRecord } from "../../../packages/ichido/src/core/record-machine/record.ts";
import { isTrusted, nextTick, type TickRow } from "../../../packages/ichido/src/core/record-machine/ticks.ts";
import {
  createTally,
  isExpired,
  isForsaken,
  stateSeen,
} from "../../../packages/ichido/src/core/record-machine/view.ts";
import { arrangements, claimVectors, forgetVectors, nowUs, ownerVectors, type Vector } from "./cases.ts";
import { differences, type Bed } from "./check.ts";

const minuteUs = 60_000_000;
const gapUs = 3 * minuteUs;

/** Trusted at both bounds at once; the others are a microsecond beyond one of them, or ahead of the clock. */
export const trustedTick: TickRow = { lastUs: nowUs - gapUs, intervalUs: minuteUs, steadySinceUs: nowUs - gapUs };
const uneven: Readonly<Record<string, TickRow | undefined>> = {
  "no tick": undefined,
  "a tick too long ago": { ...trustedTick, lastUs: nowUs - gapUs - 1 },
  "a clock steady too short a time": { ...trustedTick, lastUs: nowUs - minuteUs, steadySinceUs: nowUs - gapUs + 1 },
  "a clock that went back": { ...trustedTick, lastUs: nowUs + 2_000_000 },
};

const threeSteps = ["none", "unfinished", "finished"];
const fourSteps = [...threeSteps, "both"];

export interface Family {
  readonly asked: "claims" | "uneven ticks" | "owners";
  readonly title: string;
  readonly tick: TickRow | undefined;
  readonly vectors: readonly Vector[];
}

/** A store that asks the machine about claims needs no proof that it compares hashes as the machine does. */
export type Judge = "the store" | "the machine";

export function families(judge: Judge = "the store"): readonly Family[] {
  const past = arrangements(["past"], threeSteps);
  const owned = arrangements(["past"], ["none", "unfinished", "both"]);
  const unevenClaims = { trusted: false, arranged: past, fingerprints: ["raw"] };
  return [
    {
      asked: "claims",
      title: "claims of records before and past their retention, by a trusted clock",
      tick: trustedTick,
      vectors: claimVectors({
        trusted: true,
        arranged: arrangements(["before", "past"], threeSteps),
        ...(judge === "the machine" && { fingerprints: ["raw", "other"] }),
      }),
    },
    ...Object.entries(uneven).map(([title, tick]) => ({
      asked: "uneven ticks" as const,
      title: `claims past retention with ${title}`,
      tick,
      vectors: claimVectors(unevenClaims),
    })),
    {
      asked: "owners",
      title: "the owner's verbs, settlements and what landed",
      tick: trustedTick,
      vectors: ownerVectors(owned),
    },
    { asked: "owners", title: "what a person has erased", tick: trustedTick, vectors: forgetVectors(owned) },
  ];
}

interface Framework {
  readonly test: typeof Test;
  readonly expect: typeof Expect;
}

export function runVectors({ test, expect }: Framework, open: () => Promise<Bed>, judge?: Judge): void {
  for (const { title, tick, vectors } of families(judge)) {
    test(`${title}: ${vectors.length} vectors`, { timeout: 120_000 }, async () => {
      const bed = await open();
      expect(isTrusted(tick, nowUs)).toBe(tick === trustedTick);
      expect(await differences(bed, vectors, tick)).toEqual([]);
      await bed.close();
    });
  }

  test("ticks, lists, sums and sweeps: each record as the machine sees it", { timeout: 120_000 }, async () => {
    const bed = await open();
    expect(await viewDifferences(bed)).toEqual([]);
    await bed.close();
  });
}

/** Every few claims are enough: most of what they do is the same function. Prime to what the loops of a family take. */
const joinedThinnedBy = 5;

export interface JoinedVectors {
  readonly title: string;
  readonly verbs: readonly Vector["verb"][];
  readonly open: () => Promise<Bed>;
}

/** The same rules on a caller's own transaction; which hashes are alike is said in one place for both. */
export function runJoined({ test, expect }: Framework, ways: readonly JoinedVectors[]): void {
  const joinedFamilies = families("the machine").map(({ tick, vectors }) => ({ tick, vectors }));
  for (const { title, verbs, open } of ways) {
    const asked = joinedFamilies.flatMap(({ tick, vectors }) => {
      const all = vectors.filter(({ verb }) => verbs.includes(verb));
      const some = all.length < 1_000 ? all : all.filter((_, at) => at % joinedThinnedBy === 0);
      return some.length === 0 ? [] : [{ tick, some }];
    });
    const count = asked.reduce((sum, { some }) => sum + some.length, 0);
    test(`${title}: ${count} vectors`, { timeout: 120_000 }, async () => {
      const bed = await open();
      expect(count).toBeGreaterThan(400);
      for (const { tick, some } of asked) expect(await differences(bed, some, tick)).toEqual([]);
      await bed.close();
    });
  }
}

/** One line of a function or script, turned into another. */
export interface Mutant {
  readonly title: string;
  readonly from: string;
  readonly to: string;
  /** Which vectors must find it; those of claims unless told. */
  readonly by?: "claims" | "uneven ticks" | "owners" | "views";
}

/** Every few vectors are enough: a rule that is wrong is wrong for many records. Prime to what the loops of a family take. */
const thinnedBy = 11;

/** Each is found, or the vectors prove nothing. The bed is of a copy in which `edit` has changed a line. */
export function findMutants(
  { test, expect }: Framework,
  mutants: readonly Mutant[],
  open: (edit: (text: string) => string) => Promise<Bed>,
): void {
  const thinned = families().map((each) => ({
    ...each,
    vectors: each.vectors.filter((_, at) => at % thinnedBy === 0),
  }));
  for (const { title, from, to, by = "claims" } of mutants) {
    test(`finds a copy in which ${title}`, { timeout: 60_000 }, async () => {
      let hits = 0;
      const bed = await open((text) => {
        hits += text.split(from).length - 1;
        return text.replaceAll(from, to);
      });
      expect(hits, "the line is there").toBeGreaterThan(0);
      const found = by === "views" ? [...(await viewDifferences(bed))] : [];
      for (const { vectors, tick, asked } of thinned) {
        if (asked === by && found.length === 0) found.push(...(await differences(bed, vectors, tick, 1)));
      }
      await bed.close();
      expect(found).not.toEqual([]);
    });
  }
}

/** Every record at once: by state, in sums, and what a sweep takes, by a clock that is trusted and by those that are not. */
export async function viewDifferences(bed: Bed): Promise<readonly string[]> {
  const found: string[] = [];
  const whole = ownerVectors(arrangements(["before", "past", "nearly long past", "long past"], fourSteps)).filter(
    ({ verb, title }) => verb === "release" && title.includes("by another"),
  );
  const placed = whole.flatMap(({ identity, before }) => (before === undefined ? [] : [{ identity, record: before }]));
  const titles = new Map(whole.map(({ identity, title }) => [identity.key as string, title]));
  const same = (what: string, got: Iterable<string>, wanted: Iterable<string>): void => {
    const [one, other] = [new Set(got), new Set(wanted)];
    for (const key of one) if (!other.has(key)) found.push(`${what}: has ${titles.get(key)}`);
    for (const key of other) if (!one.has(key)) found.push(`${what}: lacks ${titles.get(key)}`);
  };
  const store = await bed.arrange(placed, undefined);
  for (const state of ["processing", "completed", "failed", "unknown"] as const) {
    const page = await store.list({ state, limit: 1_000 });
    const wanted = placed.filter(({ record }) => stateSeen(record, nowUs) === state);
    same(
      state,
      page.records.map(({ identity }) => identity.key),
      wanted.map(({ identity }) => identity.key),
    );
  }
  const tally = createTally();
  for (const { record } of placed) {
    const bytes = (record.response?.body.length ?? 0) + (record.interim?.body.length ?? 0);
    tally.add(record, bytes, nowUs);
  }
  const [sums, wantedSums] = [JSON.stringify(await store.stats(), sorted), JSON.stringify(tally.sum(), sorted)];
  if (sums !== wantedSums) found.push(`stats: ${sums}, not ${wantedSums}`);
  for (const [what, tick] of [...Object.entries(uneven), ["even ticks", trustedTick] as const]) {
    const { trusted } = await (await bed.arrange([], tick)).tick({ intervalMs: minuteUs / 1_000 });
    const wanted = isTrusted(nextTick(tick, nowUs, minuteUs), nowUs);
    if (trusted !== wanted) found.push(`a tick after ${what}: trusted is ${trusted}, not ${wanted}`);
  }
  const isSpent = (record: WholeRecord): boolean =>
    isForsaken(record, nowUs) && record.steps.every((step) => step.finishedUs !== undefined);
  const going = placed.filter(({ record }) => isExpired(record, nowUs) || isSpent(record));
  for (const [what, tick] of [...Object.entries(uneven), ["trusted", trustedTick] as const]) {
    const sweeper = await bed.arrange(placed, tick);
    for (let more = true; more;) ({ more } = await sweeper.sweep({ limit: 1_000, budgetMs: 10_000 }));
    await bed.sweepEach?.(placed, tick);
    const wanted = tick === trustedTick ? placed.filter((each) => !going.includes(each)) : placed;
    same(
      `sweep, ${what}`,
      (await bed.lying()).keys(),
      wanted.map(({ identity }) => identity.key),
    );
  }
  return found;
}

const sorted = [
  "records",
  "processing",
  "completed",
  "failed",
  "unknown",
  "bodyBytes",
  "sweepLagMs",
  "oldestUnknownMs",
];
