/** A former owner vanished and this attempt took its key: what `onUnknown` makes of that. */
import { answerOf } from "./answer.ts";
import type { Attempt } from "./attempt.ts";
import { askVerify, isInDoubt } from "./doubt.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { StoredResponse } from "../contract/record.ts";
import { recordedOf } from "./recorder.ts";
import { keyHashOf } from "../request/scope.ts";

export type Recovered =
  /** Nothing happened, or running again is what the owner chose. */
  | { readonly kind: "run" }
  /** It happened, and this is its answer. */
  | { readonly kind: "found"; readonly response: StoredResponse }
  /** It cannot be told. */
  | { readonly kind: "open" };

/** What a vanished owner left in doubt: nothing runs before `verify` has told. */
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
