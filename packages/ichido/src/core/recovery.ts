/** A former owner vanished and this attempt took its key: what `onUnknown` makes of that. */
import { answerOf } from "./answer.ts";
import { withDeadline } from "./deadline.ts";
import { believed } from "./doubt.ts";
import type { Environment } from "./environment.ts";
import type { IchidoListener } from "./events.ts";
import type { LiveExecution } from "./execution.ts";
import type { OnUnknown, VerifyAnswer } from "./options.ts";
import type { Identity, StoredResponse } from "./record.ts";
import { recordedOf } from "./recorder.ts";

export type Recovered =
  /** Nothing happened, or running again is what the owner chose. */
  | { readonly kind: "run" }
  /** It happened; the answer is stored. */
  | { readonly kind: "found"; readonly response: StoredResponse }
  /** It cannot be told; the record was handed back. */
  | { readonly kind: "open" }
  /** Someone else took the key meanwhile. */
  | { readonly kind: "lost" };

export async function recover(parts: {
  readonly execution: Pick<LiveExecution, "context" | "adopt" | "handOver">;
  readonly identity: Identity;
  readonly onUnknown: OnUnknown;
  readonly verifyMs: number;
  readonly environment: Environment;
  readonly emit: IchidoListener;
}): Promise<Recovered> {
  const { execution, identity, onUnknown, emit } = parts;
  if (typeof onUnknown === "string") return { kind: "run" };
  const { attempt, reference, signal } = execution.context;
  let answer: VerifyAnswer;
  try {
    answer = await withDeadline(parts.environment, parts.verifyMs, async () =>
      believed(
        await onUnknown.verify({ identity, attempt, reference, signal }),
        `operation ${identity.operation}`,
        emit,
      ),
    );
  } catch (error) {
    const message = `verify of operation ${identity.operation} failed; the outcome stays unknown until it answers`;
    emit({ type: "warning", code: "verify-failed", message, error });
    answer = { verdict: "not-visible-yet" };
  }
  if (answer.verdict === "absent") return { kind: "run" };
  if (answer.verdict === "found") {
    const response = recordedOf(answerOf(answer.response));
    return (await execution.adopt(response)) === "ok" ? { kind: "found", response } : { kind: "lost" };
  }
  await execution.handOver();
  return { kind: "open" };
}
