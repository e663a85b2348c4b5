/** Runs a scenario once for every point at which it can crash. */
import { knownOptions } from "../core/contract/option-checks.ts";
import { faultPoints } from "../core/contract/faults.ts";
import type { FaultName, FaultPoint } from "../core/contract/faults.ts";
import { crashAt, faultsToEnv } from "./faults.ts";
import type { CrashAction } from "./faults.ts";

export interface CrashRun {
  /** Absent in the rehearsal, the run without a crash. */
  readonly point: FaultName | undefined;
  readonly nth: number;
  /** For `createIchido({ faults })` of the engine that crashes; the engine that retries gets no faults. */
  readonly faults: FaultPoint;
  /**
   * For `spawnChild(…, { env })`: the child kills itself there, when it uses `faultsFromEnv()`. Empty in the rehearsal.
   */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Resolves when `faults` crashed; never in the rehearsal. Race the first try against it, since its caller gets no
   * answer.
   */
  readonly crashed: Promise<void>;
}

export interface CrashVerdict {
  readonly point: FaultName | undefined;
  readonly nth: number;
  /** Whether the hook of this process reached the point; not known for a child process. */
  readonly reached: boolean;
  readonly error?: unknown;
}

export interface CrashReport {
  readonly verdicts: readonly CrashVerdict[];
  /** A line for each run. */
  readonly matrix: string;
}

export interface EveryCrashPointOptions {
  /** Default `die`: the engine stops where it is, as if its process had been killed. */
  readonly action?: Exclude<CrashAction, "kill">;
  /** Default: each time that the rehearsal passed each point; all points when it passed none. */
  readonly points?: readonly FaultName[];
  /** How many passes of one point are crashed at, at most. Default 3. */
  readonly nthMax?: number;
}

const nthMaxDefault = 3;

/**
 * Rehearses the scenario, then runs it again for each point that it passed, and crashes there. Each time the scenario
 * makes a new world, tries, survives the crash, retries as a caller would and returns what the invariant checks.
 * Rejects with the whole matrix when an invariant, or the scenario itself, failed anywhere.
 */
export async function everyCrashPoint<World>(
  scenario: (run: CrashRun) => Promise<World>,
  invariant: (world: World, run: CrashRun) => void | Promise<void>,
  options: EveryCrashPointOptions = {},
): Promise<CrashReport> {
  knownOptions("everyCrashPoint", options, { action: true, points: true, nthMax: true });
  const verdicts: CrashVerdict[] = [];
  const errors: unknown[] = [];
  const attempt = async (run: CrashRun, wasReached: () => boolean): Promise<void> => {
    let failure: { readonly error: unknown } | undefined;
    try {
      await invariant(await scenario(run), run);
    } catch (error) {
      failure = { error };
      errors.push(error);
    }
    verdicts.push({ point: run.point, nth: run.nth, reached: wasReached(), ...failure });
  };

  const passed = new Map<FaultName, number>();
  const rehearsal: CrashRun = {
    point: undefined,
    nth: 0,
    faults: (name) => void passed.set(name, (passed.get(name) ?? 0) + 1),
    env: {},
    crashed: new Promise<void>(() => {}),
  };
  await attempt(rehearsal, () => false);

  const points = options.points ?? (passed.size === 0 ? faultPoints : faultPoints.filter((name) => passed.has(name)));
  for (const point of points) {
    const times = Math.min(passed.get(point) ?? 1, options.nthMax ?? nthMaxDefault);
    for (let nth = 1; nth <= times; nth += 1) {
      const hook = crashAt(point, options.action ?? "die", { nth });
      const run = { point, nth, faults: hook, env: faultsToEnv(point, "kill", nth), crashed: hook.reached };
      await attempt(run, () => hook.hits >= nth);
    }
  }
  const matrix = verdicts.map(lineOf).join("\n");
  if (errors.length > 0) {
    throw new AggregateError(errors, `${errors.length} of ${verdicts.length} runs broke the invariant:\n${matrix}`);
  }
  return { verdicts, matrix };
}

function lineOf(verdict: CrashVerdict): string {
  const name = verdict.point === undefined ? "no crash" : `${verdict.point} #${verdict.nth}`;
  const outcome = "error" in verdict ? `BROKEN  ${String(verdict.error).split("\n")[0]}` : "holds";
  return `${name.padEnd(24)} ${(verdict.reached ? "crashed" : "").padEnd(8)} ${outcome}`;
}
