/** A former owner vanished and this attempt took its key: what `onUnknown` makes of that. */
import { answerOf } from "./answer.ts";
import type { Context } from "./context.ts";
import { askVerify } from "./doubt.ts";
import type { Environment } from "./environment.ts";
import type { IchidoListener } from "./events.ts";
import type { OnUnknown } from "./options.ts";
import type { Identity, StoredResponse } from "./record.ts";
import { recordedOf } from "./recorder.ts";

export type Recovered =
  /** Nothing happened, or running again is what the owner chose. */
  | { readonly kind: "run" }
  /** It happened, and this is its answer. */
  | { readonly kind: "found"; readonly response: StoredResponse }
  /** It cannot be told. */
  | { readonly kind: "open" };

export async function recover(parts: {
  readonly context: Pick<Context, "attempt" | "reference" | "signal">;
  readonly identity: Identity;
  readonly onUnknown: OnUnknown;
  readonly verifyMs: number;
  readonly environment: Environment;
  readonly emit: IchidoListener;
}): Promise<Recovered> {
  const { context, identity, onUnknown } = parts;
  if (typeof onUnknown === "string") return { kind: "run" };
  const { attempt, reference, signal } = context;
  const answer = await askVerify({ ...parts, operation: identity.operation }, () =>
    onUnknown.verify({ identity, attempt, reference, signal }),
  );
  if (answer.verdict === "absent") return { kind: "run" };
  if (answer.verdict === "found") return { kind: "found", response: recordedOf(answerOf(answer.response)) };
  return { kind: "open" };
}
