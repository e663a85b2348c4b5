/** What `expect.extend(answerMatchers)` adds, in Vitest and Jest, for web responses of protected routes. */
import type { IchidoErrorCode } from "../core/contract/errors.ts";
import { profiles } from "../core/contract/profiles.ts";

export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/** For the types of your runner, whose `Matchers<R>` can be made to extend it. */
export interface AnswerMatchers<Result = unknown> {
  /** A stored answer, given again. */
  toBeReplayed(): Result;
  /** An answer of the handler itself, which ran for this very request, and which is stored. */
  toBeFirstAnswer(): Result;
  /** A refusal of ichido with this code. Reads a copy of the body: to be awaited. */
  toBeRefusedWith(code: IchidoErrorCode): Promise<Result>;
}

const markers = [...new Set(Object.values(profiles).map(({ marker }) => marker.name))];

const isReplayed = ({ headers }: Response): boolean => markers.some((name) => headers.get(name) === "true");

function shown(answer: Response): string {
  const marks = [...markers, "idempotency-stored"].flatMap((name) => {
    const value = answer.headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  return `status ${answer.status}${marks.length === 0 ? "" : `, ${marks.join(", ")}`}`;
}

async function codeOf(answer: Response): Promise<string | undefined> {
  if (!/^application\/problem\+json\b/.test(answer.headers.get("content-type") ?? "")) return undefined;
  const problem: unknown = await answer
    .clone()
    .json()
    .catch(() => undefined);
  const { code } = Object(problem) as { readonly code?: unknown };
  return typeof code === "string" ? code : undefined;
}

export const answerMatchers = {
  toBeReplayed(answer: Response): MatcherResult {
    const pass = isReplayed(answer);
    return { pass, message: () => `expected ${pass ? "no" : "a"} replay, got ${shown(answer)}` };
  },
  toBeFirstAnswer(answer: Response): MatcherResult {
    const isStored = answer.headers.get("idempotency-stored") !== "false";
    const isOurs = /^application\/problem\+json\b/.test(answer.headers.get("content-type") ?? "");
    const pass = !isReplayed(answer) && isStored && !isOurs;
    return { pass, message: () => `expected ${pass ? "no" : "a"} first answer, got ${shown(answer)}` };
  },
  async toBeRefusedWith(answer: Response, code: IchidoErrorCode): Promise<MatcherResult> {
    const got = await codeOf(answer);
    const pass = got === code && !isReplayed(answer);
    const what = got === undefined ? shown(answer) : `${got} (${shown(answer)})`;
    return { pass, message: () => `expected ${pass ? "no " : ""}refusal with ${code}, got ${what}` };
  },
};
