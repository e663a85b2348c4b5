/** Runs the cases one after the other and reports the result of each. */
import { knownOptions, optionInvalid } from "../core/contract/option-checks.ts";
import { conformCases, unobservable } from "./cases/index.ts";
import type { ConformCase, Level } from "./case.ts";
import type { Description } from "./description.ts";
import { withOwnPolicy } from "./own-policy.ts";
import { LimitReached, Nonconformity, NotAsDescribed, Session } from "./session.ts";

export const conformDefaults = { requestsMax: 600, totalMs: 180_000 } as const;

export interface ConformOptions {
  /** Ids of cases, or prefixes of ids (`H-`, `F-03`). Default: all. */
  readonly only?: readonly string[];
  readonly requestsMax?: number;
  readonly totalMs?: number;
  readonly onResult?: (result: CaseResult) => void;
}

export interface Failure {
  readonly request: string;
  readonly expected: string;
  readonly seen: string;
}

export interface CaseResult {
  readonly id: string;
  readonly title: string;
  readonly level: Level;
  readonly outcome: "passed" | "failed" | "not-run";
  readonly reference: string;
  /** Why it was not run. */
  readonly reason?: string;
  readonly failure?: Failure;
  readonly durationMs: number;
}

export interface ConformReport {
  readonly url: string;
  readonly profile: string;
  /** The rules were read from the policy that the server publishes. */
  readonly policyRead: boolean;
  readonly effectsCounted: boolean;
  readonly requests: number;
  readonly passed: number;
  readonly failed: number;
  readonly notRun: number;
  /** No case of the level `must` failed, and at least one was run. */
  readonly ok: boolean;
  readonly results: readonly CaseResult[];
}

function failureOf(error: unknown): Failure {
  if (error instanceof Nonconformity) return { request: error.request, expected: error.expected, seen: error.seen };
  return { request: "", expected: "an answer", seen: error instanceof Error ? error.message : String(error) };
}

/** The result of a case; and, where even its plain request failed, the reason why no other case would show anything. */
interface Ran {
  readonly result: CaseResult;
  readonly stop?: string;
}

async function runOne(each: ConformCase, session: Session): Promise<Ran> {
  const { id, title, level, reference } = each;
  const base = { id, title, level, reference };
  session.renew();
  const reason = each.unless?.(session);
  if (reason !== undefined) return { result: { ...base, outcome: "not-run", reason, durationMs: 0 } };
  const startedMs = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedMs);
  try {
    await each.run(session);
    return { result: { ...base, outcome: "passed", durationMs: durationMs() } };
  } catch (error) {
    if (error instanceof LimitReached) {
      return { result: { ...base, outcome: "not-run", reason: error.message, durationMs: durationMs() } };
    }
    const result = { ...base, outcome: "failed", failure: failureOf(error), durationMs: durationMs() } as const;
    const isHopeless = id === plainCase && error instanceof NotAsDescribed;
    return { result, ...(isHopeless ? { stop: `a plain request is not answered as described, see ${id}` } : {}) };
  }
}

const plainCase = "K-01";
const allIds: readonly string[] = [...conformCases.map(({ id }) => id), ...Object.keys(unobservable)];

/** Without this check a misspelt id would run no case at all. */
export function checkOnly(only: readonly string[] | undefined): void {
  const stranger = only?.find((chosen) => !allIds.some((id) => id.startsWith(chosen)));
  if (stranger === undefined) return;
  const groups = new Set(allIds.map((id) => id.slice(0, 2)));
  throw optionInvalid("only", `ids of cases or beginnings of them (${[...groups].join(", ")}, K-01)`, stranger);
}

function isChosen(id: string, only: readonly string[] | undefined): boolean {
  return only === undefined || only.some((chosen) => id.startsWith(chosen));
}

export async function conform(given: Description, options: ConformOptions = {}): Promise<ConformReport> {
  knownOptions("conform", options, { only: true, requestsMax: true, totalMs: true, onResult: true });
  checkOnly(options.only);
  const { description, isRead } = await withOwnPolicy(given);
  const session = new Session(description, { ...conformDefaults, ...options });
  const results: CaseResult[] = [];
  const note = (result: CaseResult): void => {
    results.push(result);
    options.onResult?.(result);
  };
  let stop: string | undefined;
  for (const each of conformCases) {
    if (!isChosen(each.id, options.only)) continue;
    if (stop === undefined) {
      const ran = await runOne(each, session);
      stop = ran.stop;
      note(ran.result);
    } else {
      const { id, title, level, reference } = each;
      note({ id, title, level, reference, outcome: "not-run", reason: stop, durationMs: 0 });
    }
  }
  for (const [id, { title, reason }] of Object.entries(unobservable)) {
    if (isChosen(id, options.only)) {
      note({ id, title, level: "must", outcome: "not-run", reference: "", reason, durationMs: 0 });
    }
  }
  const count = (outcome: CaseResult["outcome"]): number => results.filter((each) => each.outcome === outcome).length;
  const broken = results.some((each) => each.outcome === "failed" && each.level === "must");
  return {
    url: description.url,
    profile: session.profile.name,
    policyRead: isRead,
    effectsCounted: description.effects !== undefined,
    requests: session.requests,
    passed: count("passed"),
    failed: count("failed"),
    notRun: count("not-run"),
    ok: !broken && count("passed") + count("failed") > 0,
    results,
  };
}
