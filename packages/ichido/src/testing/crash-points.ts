/** Runs a scenario once for every point at which it can crash, and once for every pair of them. */
import { knownOptions } from "../core/contract/option-checks.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { faultPoints } from "../core/contract/faults.ts";
import type { FaultName, FaultPoint } from "../core/contract/faults.ts";
import { crashAt, faultsToEnv } from "./faults.ts";
import type { CrashAction } from "./faults.ts";

/** What one engine lives through, until it crashes or the scenario is over. */
export interface CrashLife {
  /** For `createIchido({ faults })`. */
  readonly faults: FaultPoint;
  /** For `spawnChild(…, { env })`: the child kills itself there, when it uses `faultsFromEnv()`. Empty where it lives on. */
  readonly env: Readonly<Record<string, string>>;
  /** Resolves when `faults` crashed; never where it lives on. Race a try against it, since its caller gets no answer. */
  readonly crashed: Promise<void>;
}

export interface CrashRun extends CrashLife {
  /** Absent in the rehearsal, the run without a crash. `faults`, `env` and `crashed` of the run are those of its first life. */
  readonly point: FaultName | undefined;
  readonly nth: number;
  /** Where the engine that retries crashes, too. */
  readonly second?: { readonly point: FaultName; readonly nth: number };
  /** One engine after the other, on the same store: each but the last crashes. */
  readonly lives: readonly CrashLife[];
}

export interface CrashVerdict {
  readonly point: FaultName | undefined;
  readonly nth: number;
  readonly second?: { readonly point: FaultName; readonly nth: number };
  /** Whether the hooks of this process reached every point of the run; not known for a child process. */
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
  /** Default: each time that the rehearsal passed each point; all points when it passed none, and gave `env` to a child. */
  readonly points?: readonly FaultName[];
  /** How many passes of one point are crashed at, at most. Default 3. */
  readonly nthMax?: number;
  /**
   * Also crash the engine that retries, at every point that it passed after the first crash. The scenario must go through
   * all `lives`. Default false.
   */
  readonly pairs?: boolean;
}

const nthMaxDefault = 3;

interface Place {
  readonly point: FaultName;
  readonly nth: number;
}

interface Life extends CrashLife {
  readonly wasReached: () => boolean;
}

const never = new Promise<void>(() => {});

function livingOn(faults: FaultPoint = () => undefined): Life {
  return { faults, env: {}, crashed: never, wasReached: () => true };
}

function crashing({ point, nth }: Place, action: Exclude<CrashAction, "kill">): Life {
  const hook = crashAt(point, action, { nth });
  return {
    faults: hook,
    env: faultsToEnv(point, "kill", nth),
    crashed: hook.reached,
    wasReached: () => hook.hits >= nth,
  };
}

interface Rehearsal {
  readonly life: Life;
  /** The scenario gave an engine, or a child, what would let it crash. */
  readonly isUsed: () => boolean;
  /** Of these points, those that its engine went without. None where it may have passed them in a child process. */
  readonly missing: (points: readonly FaultName[]) => readonly FaultName[];
  readonly places: (options: EveryCrashPointOptions) => readonly Place[];
}

/** A life in which the points that its engine passes are counted. */
function rehearsing(): Rehearsal {
  const passed = new Map<FaultName, number>();
  let isRead = false;
  const life = {
    ...livingOn((name) => void passed.set(name, (passed.get(name) ?? 0) + 1)),
    get env() {
      isRead = true;
      return {};
    },
  };
  return {
    life,
    isUsed: () => isRead || passed.size > 0,
    missing: (points) => (isRead || passed.size === 0 ? [] : points.filter((name) => !passed.has(name))),
    /** All points once where none was passed: then they are passed in a process of their own, if at all. */
    places({ points, nthMax = nthMaxDefault }) {
      const names = points ?? (passed.size === 0 ? faultPoints : faultPoints.filter((name) => passed.has(name)));
      return names.flatMap((point) =>
        Array.from({ length: Math.min(passed.get(point) ?? 1, nthMax) }, (_, at) => ({ point, nth: at + 1 })),
      );
    },
  };
}

/** Every run would hold, since nothing crashes in it. */
function nothingCrashes(why: string): IchidoError {
  return new IchidoError("usage-invalid", `everyCrashPoint: ${why}`);
}

/**
 * Rehearses the scenario, then runs it again for each point that it passed, and crashes there. Each time the scenario
 * makes a new world, tries, survives the crash, retries as a caller would and returns what the invariant checks.
 * Rejects with the whole matrix when an invariant, or the scenario itself, failed anywhere; with `usage-invalid` when
 * nothing would crash, since the scenario does not hand on what its run gives it.
 */
export async function everyCrashPoint<World>(
  scenario: (run: CrashRun) => Promise<World>,
  invariant: (world: World, run: CrashRun) => void | Promise<void>,
  options: EveryCrashPointOptions = {},
): Promise<CrashReport> {
  knownOptions("everyCrashPoint", options, { action: true, points: true, nthMax: true, pairs: true });
  const { action = "die", pairs = false } = options;
  const verdicts: CrashVerdict[] = [];
  const errors: unknown[] = [];

  async function attempt(lives: readonly [Life, ...Life[]], first?: Place, second?: Place): Promise<void> {
    const where = { point: first?.point, nth: first?.nth ?? 0, ...(second && { second }) };
    const [life] = lives;
    const { faults, crashed } = life;
    const run: CrashRun = {
      ...where,
      faults,
      crashed,
      lives,
      get env() {
        return life.env;
      },
    };
    let failure: { readonly error: unknown } | undefined;
    try {
      await invariant(await scenario(run), run);
    } catch (error) {
      failure = { error };
      errors.push(error);
    }
    const reached = first !== undefined && lives.every((life) => life.wasReached());
    verdicts.push({ ...where, reached, ...failure });
  }

  const rehearsal = rehearsing();
  await attempt([rehearsal.life]);
  if (errors.length === 0 && !rehearsal.isUsed()) {
    throw nothingCrashes(
      "the rehearsal passed no crash point, and nothing read its env. Give the engine the run's faults, " +
        "createIchido({ …, faults }), or a child process the run's env, spawnChild(entry, { env })",
    );
  }
  const missing = errors.length === 0 ? rehearsal.missing(options.points ?? []) : [];
  if (missing.length > 0) {
    const passed = faultPoints.filter((name) => !rehearsal.missing([name]).includes(name));
    throw nothingCrashes(
      `the scenario never comes to ${missing.join(", ")}, so that nothing would crash there. It comes to ` +
        `${passed.join(", ")}; without the option points each of them is tried`,
    );
  }
  const firsts = rehearsal.places(options);
  if (firsts.length === 0) throw nothingCrashes("the options points and nthMax leave no point to crash at");
  let isRetried = false;
  for (const first of firsts) {
    const retry = rehearsing();
    await attempt([crashing(first, action), retry.life], first);
    if (!pairs || !retry.isUsed()) continue;
    isRetried = true;
    for (const second of retry.places(options)) {
      await attempt([crashing(first, action), crashing(second, action), livingOn()], first, second);
    }
  }
  if (errors.length === 0 && pairs && !isRetried) {
    throw nothingCrashes(
      "with pairs, nothing used the second of the run's lives. Go through all of them, one engine after the other on " +
        "the same store, each with the faults, or for a child process the env, of its own life",
    );
  }
  const matrix = verdicts.map(lineOf).join("\n");
  if (errors.length > 0) {
    throw new AggregateError(errors, `${errors.length} of ${verdicts.length} runs broke the invariant:\n${matrix}`);
  }
  return { verdicts, matrix };
}

function lineOf(verdict: CrashVerdict): string {
  const { point, nth, second } = verdict;
  const then = second === undefined ? "" : `, then ${second.point} #${second.nth}`;
  const name = point === undefined ? "no crash" : `${point} #${nth}${then}`;
  const outcome = "error" in verdict ? `BROKEN  ${String(verdict.error).split("\n")[0]}` : "holds";
  return `${name.padEnd(24)} ${(verdict.reached ? "crashed" : "").padEnd(8)} ${outcome}`;
}
