/** What is known of an outcome that a former attempt left behind, and which words about it are believed. */
import { withDeadline } from "../contract/deadline.ts";
import type { Environment } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { VerifyAnswer } from "../contract/options.ts";
import type { ClaimOrigin } from "../contract/store.ts";

/**
 * The former owner vanished, or left its outcome open. Released, the next attempt would not ask what happened: such a record
 * is given back by ending the lease alone.
 */
export function isInDoubt({ origin }: { readonly origin: ClaimOrigin }): boolean {
  return origin === "lapsed" || origin === "suspended";
}

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
