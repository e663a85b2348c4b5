/** One run: everything that goes wrong, then calm, then the judgement. */
import { originNow, type Origin } from "../scripts/proof/origin.ts";
import { reportOf, vacuousBy, type Report } from "./report.ts";
import { Stage, type StageOptions } from "./stage.ts";
import type { History } from "./history.ts";
import type { Tally } from "./tally.ts";

export interface RunOptions extends StageOptions {
  readonly seconds: number;
  readonly progress?: (line: string) => void;
}

/** Until everything was seen that a run must show: twice as long again, and a short run for some minutes. */
const longerMax = 2;
const longerSecondsMin = 180;
const tickMs = 1_000;

export async function run(options: RunOptions): Promise<Report> {
  const { seconds, control, only } = options;
  const origin: Origin = originNow();
  const stage = await Stage.open(options);
  const { history, tally, kinds } = stage;
  const missing = (): readonly string[] => vacuousBy({ options, history, tally, kinds });
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1_000;
  // On a busy machine it takes longer until everything was seen that a run must show.
  const isOver = (): boolean =>
    performance.now() >= endMs &&
    (control !== "none" ||
      only !== undefined ||
      missing().length === 0 ||
      performance.now() >= endMs + Math.max(longerSecondsMin, longerMax * seconds) * 1_000);
  const ticking = setInterval(() => options.progress?.(`${progressOf(history, tally)}${stillOf(missing())}`), tickMs);
  try {
    await stage.storm(isOver);
    clearInterval(ticking);
    const ranSeconds = (performance.now() - beganMs) / 1_000;
    const settledMs = await stage.settle();
    await stage.judge();
    return reportOf({ options, origin, history, tally, seconds: ranSeconds, settledMs, kinds });
  } finally {
    clearInterval(ticking);
    await stage.close();
  }
}

const stillOf = (missing: readonly string[]): string => (missing.length === 0 ? "" : `; ${missing.join(", ")}`);

export function progressOf({ begun, answers, violations }: History, tally: Tally): string {
  const { seconds, faultsInAll } = tally;
  const counts = `${begun} operations, ${answers} answers, ${faultsInAll} faults`;
  return `${seconds.toFixed(0)} s: ${counts}, ${violations.length} violations`;
}
