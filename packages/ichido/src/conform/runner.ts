/** Runs the cases one after the other and says of each what became of it. */
import { knownOptions } from "../core/option-checks.ts";
import { conformCases, unobservable } from "./cases/index.ts";
import type { ConformCase, Level } from "./case.ts";
import type { Description } from "./description.ts";
import { LimitReached, Nonconformity, Session } from "./session.ts";

export const conformDefaults = { requestsMax: 600, totalMs: 180_000 } as const;

export interface ConformOptions {
  /** Ids of cases, or beginnings of them (`H-`, `F-03`). Default: all. */
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

async function runOne(each: ConformCase, session: Session): Promise<CaseResult> {
  const { id, title, level, reference } = each;
  const base = { id, title, level, reference };
  const reason = each.unless?.(session);
  if (reason !== undefined) return { ...base, outcome: "not-run", reason, durationMs: 0 };
  const startedMs = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedMs);
  try {
    await each.run(session);
    return { ...base, outcome: "passed", durationMs: durationMs() };
  } catch (error) {
    if (error instanceof LimitReached)
      return { ...base, outcome: "not-run", reason: error.message, durationMs: durationMs() };
    return { ...base, outcome: "failed", failure: failureOf(error), durationMs: durationMs() };
  }
}

function isChosen(id: string, only: readonly string[] | undefined): boolean {
  return only === undefined || only.some((chosen) => id.startsWith(chosen));
}

export async function conform(description: Description, options: ConformOptions = {}): Promise<ConformReport> {
  knownOptions("conform", options, { only: true, requestsMax: true, totalMs: true, onResult: true });
  const session = new Session(description, { ...conformDefaults, ...options });
  const results: CaseResult[] = [];
  const note = (result: CaseResult): void => {
    results.push(result);
    options.onResult?.(result);
  };
  for (const each of conformCases) {
    if (isChosen(each.id, options.only)) note(await runOne(each, session));
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
    effectsCounted: description.effects !== undefined,
    requests: session.requests,
    passed: count("passed"),
    failed: count("failed"),
    notRun: count("not-run"),
    ok: !broken && count("passed") + count("failed") > 0,
    results,
  };
}
