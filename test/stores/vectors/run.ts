/** The vectors as tests of one store. */
import type { expect as Expect, test as Test } from "vitest";
import { isTrusted, tickSeen, type TickRow } from "../../../packages/ichido/src/core/record-machine/ticks.ts";
import { arrangements, claimVectors, forgetVectors, nowUs, ownerVectors, type Vector } from "./cases.ts";
import { differences, type Bed } from "./check.ts";
import { damagedDifferences } from "./damaged.ts";
import { ticksSeen, trustedTick } from "./ticks.ts";
import { viewDifferences } from "./views.ts";

const threeSteps = ["none", "unfinished", "finished"];

export interface Family {
  readonly asked: "claims" | "uneven ticks" | "owners";
  readonly title: string;
  readonly tick: TickRow | undefined;
  readonly vectors: readonly Vector[];
  /** One after the other: what comes at once may go another way. */
  readonly alone?: true;
}

export interface Traits {
  /** A store that asks the machine about claims needs no proof that it compares hashes as the machine does. */
  readonly judge?: "the machine";
  /** How far a tick may be ahead of a moment that was read before it. */
  readonly tickPatienceUs?: number;
}

const aloneThinnedBy = 7;

export function families({ judge, tickPatienceUs = 0 }: Traits = {}): readonly Family[] {
  const past = arrangements(["past"], threeSteps);
  const owned = arrangements(["past"], ["none", "unfinished", "both"]);
  const fewPast = arrangements(["past"], ["none"]);
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
    ...ticksSeen(tickPatienceUs)
      .filter(({ tick }) => tick !== trustedTick)
      .map(({ title, tick, trusted, isBound }) => ({
        asked: "uneven ticks" as const,
        title: `claims past retention with ${title}`,
        tick,
        vectors: claimVectors({ trusted, arranged: isBound ? fewPast : past, fingerprints: ["raw"] }),
      })),
    {
      asked: "owners",
      title: "the owner's verbs, settlements and what landed",
      tick: trustedTick,
      vectors: ownerVectors(owned),
    },
    {
      asked: "owners",
      title: "claims and answers that come alone",
      tick: trustedTick,
      vectors: [
        ...claimVectors({ trusted: true, arranged: arrangements(["before", "past"], ["none"]), fingerprints: ["raw"] }),
        ...ownerVectors(fewPast).filter(({ verb }) => verb === "complete"),
      ].filter(({ before }, at) => before === undefined || at % aloneThinnedBy === 0),
      alone: true,
    },
    { asked: "owners", title: "what a person has erased", tick: trustedTick, vectors: forgetVectors(owned) },
  ];
}

interface Framework {
  readonly test: typeof Test;
  readonly expect: typeof Expect;
}

export function runVectors({ test, expect }: Framework, open: () => Promise<Bed>, traits: Traits = {}): void {
  for (const { title, tick, vectors, alone = false } of families(traits)) {
    test(`${title}: ${vectors.length} vectors`, { timeout: 120_000 }, async () => {
      const bed = await open();
      expect(await differences(bed, vectors, tick, { alone })).toEqual([]);
      await bed.close();
    });
  }

  test("ticks are trusted as the machine trusts them", () => {
    for (const { tick, trusted } of ticksSeen(traits.tickPatienceUs ?? 0)) {
      const seen = tick && { ...tick, lastUs: tickSeen(tick.lastUs, nowUs, traits.tickPatienceUs ?? 0) };
      expect(isTrusted(seen, nowUs)).toBe(trusted);
    }
  });

  test("ticks, lists, sums and sweeps: each record as the machine sees it", { timeout: 120_000 }, async () => {
    const bed = await open();
    expect(await viewDifferences(bed, traits)).toEqual([]);
    await bed.close();
  });
}

/** Where a row can be damaged at all. */
export function runDamaged({ test, expect }: Framework, open: () => Promise<Bed>): void {
  test("a row that no verb leaves is told as damage and left as it is", { timeout: 120_000 }, async () => {
    const bed = await open();
    expect(bed.damages?.length).toBeGreaterThan(0);
    expect(await damagedDifferences(bed)).toEqual([]);
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
  const joinedFamilies = families({ judge: "the machine" }).map(({ tick, vectors }) => ({ tick, vectors }));
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
        if (asked === by && found.length === 0) found.push(...(await differences(bed, vectors, tick, { enough: 1 })));
      }
      await bed.close();
      expect(found).not.toEqual([]);
    });
  }
}
