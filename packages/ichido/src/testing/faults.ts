/** Hooks for `createIchido({ faults })`: die, throw or hang at a named point. */
import { knownOptions } from "../core/contract/option-checks.ts";
import { faultPoints } from "../core/contract/faults.ts";
import type { FaultName, FaultPoint } from "../core/contract/faults.ts";
import { IchidoError } from "../core/contract/errors.ts";

export { faultPoints } from "../core/contract/faults.ts";
export type { FaultName, FaultPoint } from "../core/contract/faults.ts";

/**
 * `kill`: SIGKILL to this very process. `throw`: an error comes out of the point. `hang`: this one call never goes on.
 * `die`: what SIGKILL does, without ending the process: this call and every later point of the same hook hang, so the
 * engine that has the hook stops working, its heartbeat included.
 */
export type CrashAction = "kill" | "throw" | "hang" | "die" | (() => void | Promise<void>);

export interface CrashPoint extends FaultPoint {
  /** Resolves at the moment of the crash. */
  readonly reached: Promise<void>;
  /** How often the named point was passed, the crash included. */
  readonly hits: number;
}

export class CrashError extends Error {
  override readonly name = "CrashError";
  readonly point: FaultName;
  constructor(point: FaultName) {
    super(`crashed on purpose at ${point}`);
    this.point = point;
  }
}

const forever = (): Promise<never> => new Promise<never>(() => {});

/** Crashes when the point is passed for the `nth` time (default the first), once. */
export function crashAt(point: FaultName, action: CrashAction, options: { readonly nth?: number } = {}): CrashPoint {
  knownOptions("crashAt", options, { nth: true });
  const nth = options.nth ?? 1;
  if (!faultPoints.includes(point)) {
    throw new IchidoError("option-invalid", `no crash point is called ${point}; there are ${faultPoints.join(", ")}`);
  }
  if (!Number.isInteger(nth) || nth < 1) {
    throw new IchidoError("option-invalid", `nth is ${nth}; expected a whole number from 1 on`);
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  let hits = 0;
  let dead = false;
  const hook = (name: FaultName): void | Promise<void> => {
    if (dead) return forever();
    if (name !== point) return undefined;
    hits += 1;
    if (hits !== nth) return undefined;
    resolve();
    if (typeof action === "function") return action();
    switch (action) {
      case "throw":
        throw new CrashError(point);
      case "hang":
        return forever();
      case "die":
        dead = true;
        return forever();
      case "kill":
        process.kill(process.pid, "SIGKILL");
        return forever();
    }
  };
  return Object.defineProperties(hook, {
    reached: { value: promise },
    hits: { get: () => hits },
  }) as CrashPoint;
}

/** Several hooks as one; they run in the order given. */
export function combineFaults(...hooks: readonly FaultPoint[]): FaultPoint {
  return async (name) => {
    for (const hook of hooks) await hook(name);
  };
}

/** Where `faultsFromEnv` looks: `after-claim:kill`, `before-commit:throw:2`, several separated by commas. */
export const faultsVariable = "ICHIDO_FAULTS";

const namedActions = ["kill", "throw", "hang", "die"] as const;
type NamedAction = (typeof namedActions)[number];

/** For a child process: the parent decides where it dies. Nothing when the variable is absent. */
export function faultsFromEnv(env: Readonly<Record<string, string | undefined>> = process.env): FaultPoint | undefined {
  const text = env[faultsVariable];
  if (text === undefined || text.trim() === "") return undefined;
  const hooks = text.split(",").map((entry) => {
    const [point = "", action = "kill", nth = "1"] = entry.trim().split(":");
    const known = faultPoints.find((name) => name === point);
    const doing = namedActions.find((name) => name === action);
    if (known === undefined || doing === undefined || !/^[1-9]\d*$/.test(nth)) {
      throw new IchidoError(
        "option-invalid",
        `${faultsVariable} holds ${JSON.stringify(entry)}; expected point:action:nth with an action of ` +
          `${namedActions.join(", ")} and a point of ${faultPoints.join(", ")}`,
      );
    }
    return crashAt(known, doing, { nth: Number(nth) });
  });
  return combineFaults(...hooks);
}

/** The value of the variable for a child process. */
export function faultsToEnv(point: FaultName, action: NamedAction = "kill", nth = 1): Record<string, string> {
  return { [faultsVariable]: `${point}:${action}:${nth}` };
}
