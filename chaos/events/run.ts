/** One run of the events: everything that goes wrong, then calm, then the judgement. */
import { setTimeout as sleep } from "node:timers/promises";
import { originNow } from "../../scripts/proof/origin.ts";
import { createRandom } from "../../simulation/random.ts";
import { storm } from "../faults/storm.ts";
import { eventFaultsOf } from "./faults.ts";
import { judgeEvents, missingIn } from "./judgement.ts";
import { eventsReportOf, eventsVacuousBy, type EventsReport } from "./report.ts";
import { openEventsStage, type EventsStage, type EventsStageOptions } from "./stage.ts";

export interface EventsOptions extends EventsStageOptions {
  readonly seconds: number;
  readonly seed: number;
  /** Kinds of faults, by name; absent: all that store and broker can suffer. */
  readonly only?: readonly string[];
  readonly progress?: (line: string) => void;
}

/** After the last fault the next effect comes within this time, all of them within five times of it. */
const settleMs = 60_000;
const settlesMax = 5;
/** An event passes many processes, and each fault hits one of them: they leave it some time to arrive. */
const pace = 1.5;
/** Until everything was seen that a run must show: twice as long again, and a short run for some minutes. */
const longerMax = 2;
const longerSecondsMin = 180;
const sayMs = 1_000;
/** Longer than any lease and ackWait here: what would come twice has come by then. */
const afterwardsMs = 4_000;

async function lasts(isOver: () => boolean): Promise<void> {
  while (!isOver()) await sleep(50);
}

/** Until every committed event has had its effects and nothing waits. */
async function settleAll(stage: EventsStage, { control, progress }: EventsOptions): Promise<number> {
  const beganMs = performance.now();
  let untilMs = beganMs + settleMs;
  let before = Number.POSITIVE_INFINITY;
  while (performance.now() < untilMs) {
    const ledgers = await stage.look();
    const { waiting } = ledgers.told;
    const left = Object.values(waiting).reduce((sum, count) => sum + count, missingIn(ledgers));
    if (left === 0) break;
    progress?.(`calm: ${left} left (${JSON.stringify(waiting)})`);
    // A busy machine is slow, but gets on. A control may never be done.
    if (left < before && control === "none")
      untilMs = Math.min(performance.now() + settleMs, beganMs + settlesMax * settleMs);
    before = Math.min(before, left);
    await sleep(sayMs);
  }
  return performance.now() - beganMs;
}

/** Tells which kinds there were, and how many seconds it lasted. */
async function goWrong(
  stage: EventsStage,
  options: EventsOptions,
): Promise<{ readonly kinds: readonly string[]; readonly seconds: number }> {
  const { control, seconds, only, progress } = options;
  const { tally, violations } = stage;
  const scene = { ...stage, random: createRandom(options.seed), only, pace, orders: { paddingBytes: 0 } };
  const faults = eventFaultsOf(scene);
  const kinds = faults.map(({ name }) => name);
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1_000;
  const missing = (): readonly string[] => eventsVacuousBy(options, tally, kinds);
  // On a busy machine it takes longer until everything was seen that a run must show.
  const isOver = (): boolean =>
    performance.now() >= endMs &&
    (control !== "none" ||
      only !== undefined ||
      missing().length === 0 ||
      performance.now() >= endMs + Math.max(longerSecondsMin, longerMax * seconds) * 1_000);
  const saying = setInterval(() => {
    const counts = `${tally.faultsInAll} faults, ${tally.seen.get("duplicate") ?? 0} duplicates refused`;
    progress?.([`${tally.seconds.toFixed(0)} s: ${counts}, ${violations.length} violations`, ...missing()].join("; "));
  }, sayMs);
  await Promise.all([storm(scene, tally, isOver, faults), lasts(isOver)]);
  clearInterval(saying);
  return { kinds, seconds: (performance.now() - beganMs) / 1_000 };
}

export async function runEvents(options: EventsOptions): Promise<EventsReport> {
  const origin = originNow();
  const stage = await openEventsStage(options);
  const { fleet, tally, violations } = stage;
  try {
    const { kinds, seconds } = await goWrong(stage, options);
    fleet.order("rest", true);
    fleet.calm();
    const settledMs = await settleAll(stage, options);
    await sleep(afterwardsMs);
    const ledgers = await stage.look();
    await fleet.stop();
    const judged = judgeEvents(ledgers);
    const counts = { events: ledgers.told.events.length, effects: judged.effects, seconds, settledMs };
    return eventsReportOf({ options, origin, tally, kinds, counts, violations: [...violations, ...judged.violations] });
  } finally {
    await stage.close();
  }
}
