/** What is known of an outcome that a former attempt left behind, and which words about it are believed. */
import { answerOf } from "./answer.ts";
import type { Attempt } from "./attempt.ts";
import { withDeadline } from "../contract/deadline.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { Environment } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { VerifyAnswer } from "../contract/options.ts";
import type { StoredResponse } from "../contract/record.ts";
import { recordedOf } from "./recorder.ts";
import { keyHashOf } from "../request/scope.ts";
import { isInDoubt } from "../record-machine/claim.ts";

/**
 * What a `verify` of the user's answered. Only the word `absent` lets anything be called again: a word that is none of the
 * three (a provider's own state, nothing at all) says no more than that nothing is visible yet.
 */
export function believed<Answer extends { readonly verdict: string }>(
  answer: Answer,
  of: string,
  emit: IchidoListener,
): Answer | { readonly verdict: "not-visible-yet" } {
  const word: unknown = (answer as Answer | undefined)?.verdict;
  if (word === "found" || word === "absent" || word === "not-visible-yet") return answer;
  const message = `verify of ${of} answered ${JSON.stringify(word) ?? "nothing"}, which is neither found, absent nor not-visible-yet; its outcome stays unknown`;
  emit({ type: "warning", code: "verdict-unknown", message });
  return { verdict: "not-visible-yet" };
}

/** Asks what became of an operation. An error, or no answer in time, says no more than that nothing is visible yet. */
export async function askVerify(
  parts: {
    readonly operation: string;
    readonly verifyMs: number;
    readonly environment: Environment;
    readonly emit: IchidoListener;
  },
  verify: () => VerifyAnswer | Promise<VerifyAnswer>,
): Promise<VerifyAnswer> {
  const { environment, verifyMs, emit } = parts;
  const of = `operation ${parts.operation}`;
  try {
    return await withDeadline(environment, verifyMs, async () => believed(await verify(), of, emit));
  } catch (error) {
    const message = `verify of ${of} failed; the outcome stays unknown until it answers`;
    emit({ type: "warning", code: "verify-failed", message, error });
    return { verdict: "not-visible-yet" };
  }
}

/** A former owner vanished and this attempt took its key: what `onUnknown` makes of that. */
type Recovered =
  /** Nothing happened, or running again is what the owner chose. */
  | { readonly kind: "run" }
  /** It happened, and this is its answer. */
  | { readonly kind: "found"; readonly response: StoredResponse }
  /** Not known yet. */
  | { readonly kind: "open" };

/** What a vanished owner left in doubt: nothing runs before `verify` has answered. */
export async function recover({ settings, emit }: EngineParts, { ask, grant, context }: Attempt): Promise<Recovered> {
  if (!isInDoubt(grant)) return { kind: "run" };
  const { identity } = ask;
  const { operation } = identity;
  const { onUnknown } = ask.route;
  const { attempt, reference } = context;
  emit({ type: "takeover", operation, keyHash: keyHashOf(identity), attempt });
  if (typeof onUnknown === "string") return { kind: "run" };
  const answer = await askVerify({ ...settings, operation, emit }, () =>
    onUnknown.verify({ identity, attempt, reference, signal: context.signal }),
  );
  if (answer.verdict === "absent") return { kind: "run" };
  if (answer.verdict === "found") return { kind: "found", response: recordedOf(answerOf(answer.response)) };
  return { kind: "open" };
}
