/** Every record at once: by state, in sums, and what a sweep takes, by a clock that is trusted and by those that are not. */
import type { WholeRecord } from "../../../packages/ichido/src/core/record-machine/record.ts";
import { isTrusted, nextTick, tickSeen } from "../../../packages/ichido/src/core/record-machine/ticks.ts";
import {
  createTally,
  isExpired,
  isForsaken,
  stateSeen,
} from "../../../packages/ichido/src/core/record-machine/view.ts";
import { arrangements, nowUs, ownerVectors } from "./cases.ts";
import type { Bed, Placed } from "./check.ts";
import { minuteUs, ticksSeen } from "./ticks.ts";

export type View = "lists" | "sums" | "ticks" | "sweeps";
const views: readonly View[] = ["lists", "sums", "ticks", "sweeps"];

interface Looking {
  readonly tickPatienceUs?: number;
  readonly only?: readonly View[];
}

export async function viewDifferences(bed: Bed, { tickPatienceUs = 0, only = views }: Looking = {}) {
  const found: string[] = [];
  for (const each of views.filter((view) => only.includes(view))) {
    found.push(...(await seenBy[each](bed, tickPatienceUs)));
  }
  return found;
}

const roundsMax = 20;

const seenBy: Readonly<Record<View, (bed: Bed, patienceUs: number) => Promise<readonly string[]>>> = {
  async lists(bed) {
    const found: string[] = [];
    const store = await bed.arrange(placed(), undefined);
    for (const state of ["processing", "completed", "failed", "unknown"] as const) {
      const page = await store.list({ state, limit: 1_000 });
      const got = page.records.map(({ identity }) => identity.key);
      found.push(...unlike(state, got, keysOf(placed().filter(({ record }) => stateSeen(record, nowUs) === state))));
    }
    return found;
  },

  async sums(bed) {
    const store = await bed.arrange(placed(), undefined);
    const tally = createTally();
    for (const { record } of placed()) {
      const bytes = (record.response?.body.length ?? 0) + (record.interim?.body.length ?? 0);
      tally.add(record, bytes, nowUs);
    }
    const [sums, wanted] = [JSON.stringify(await store.stats(), sorted), JSON.stringify(tally.sum(), sorted)];
    return sums === wanted ? [] : [`stats: ${sums}, not ${wanted}`];
  },

  async ticks(bed, patienceUs) {
    const found: string[] = [];
    for (const { title, tick } of ticksSeen(patienceUs)) {
      const { trusted } = await (await bed.arrange([], tick)).tick({ intervalMs: minuteUs / 1_000 });
      const seen = tick && { ...tick, lastUs: tickSeen(tick.lastUs, nowUs, patienceUs) };
      const wanted = isTrusted(nextTick(seen, nowUs, minuteUs), nowUs);
      if (trusted !== wanted) found.push(`a tick after ${title}: trusted is ${trusted}, not ${wanted}`);
    }
    return found;
  },

  async sweeps(bed, patienceUs) {
    const found: string[] = [];
    const isSpent = (record: WholeRecord): boolean =>
      isForsaken(record, nowUs) && record.steps.every((step) => step.finishedUs !== undefined);
    const staying = placed().filter(({ record }) => !isExpired(record, nowUs) && !isSpent(record));
    for (const { title, tick, trusted } of ticksSeen(patienceUs)) {
      const sweeper = await bed.arrange(placed(), tick);
      for (let round = 0, more = true; more && round < roundsMax; round += 1) {
        ({ more } = await sweeper.sweep({ limit: 1_000, budgetMs: 10_000 }));
      }
      await bed.sweepEach?.(placed(), tick);
      const left = [...(await bed.lying()).keys()];
      found.push(...unlike(`sweep, ${title}`, left, keysOf(trusted ? staying : placed())));
    }
    return found;
  },
};

interface Shown extends Placed {
  readonly title: string;
}

let shown: readonly Shown[] | undefined;

function placed(): readonly Shown[] {
  const steps = ["none", "unfinished", "finished", "both"];
  shown ??= ownerVectors(arrangements(["before", "past", "nearly long past", "long past"], steps))
    .filter(({ verb, title }) => verb === "release" && title.includes("by another"))
    .flatMap(({ identity, before, title }) => (before === undefined ? [] : [{ identity, record: before, title }]));
  return shown;
}

const keysOf = (some: readonly Placed[]): string[] => some.map(({ identity }) => identity.key);

function unlike(what: string, got: readonly string[], wanted: readonly string[]): readonly string[] {
  const titles = new Map(placed().map(({ identity, title }) => [identity.key as string, title]));
  const [one, other] = [new Set(got), new Set(wanted)];
  return [
    ...got.filter((key) => !other.has(key)).map((key) => `${what}: has ${titles.get(key)}`),
    ...wanted.filter((key) => !one.has(key)).map((key) => `${what}: lacks ${titles.get(key)}`),
  ];
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
