/** Claims and completions of the PostgreSQL store, in groups. */
import type { Identity } from "../../core/contract/record.ts";
import { createGroup, idOf, type Group } from "../group.ts";
import type { StoreParts } from "./claim.ts";
import { failureKind, toIchidoError } from "./failures.ts";
import { countdown, type Left } from "./retries.ts";

/** A group is not patient: its members are asked for again one by one, so that one locked row costs the others little. */
const groupLockTimeoutMs = 50;

/** One member's row or value may be the reason, unless the server could not be reached at all. */
function splits(error: unknown): boolean {
  const kind = failureKind(error);
  return kind === "locked" || kind === "conflict" || kind === "refused";
}

/** Of one sending: how long it may wait for a row, and what is left of the time of the call. */
export interface Sending {
  readonly lockMs: number;
  readonly left: Left;
}

export interface GroupedVerb<Request, Answer> {
  readonly weightOf: (request: Request) => number;
  readonly sendMany: (requests: readonly Request[], sending: Sending) => Promise<readonly Answer[]>;
  readonly sendOne: (request: Request, sending: Sending) => Promise<Answer>;
}

/** A verb in groups, or by itself where the user wants no groups. */
export function createGrouped<Request extends { readonly identity: Identity }, Answer>(
  { options }: StoreParts,
  verb: "claim" | "complete",
  { weightOf, sendMany, sendOne }: GroupedVerb<Request, Answer>,
): Group<Request, Answer> {
  const { environment, callTimeoutMs, lockTimeoutMs } = options;
  /** Less than what is left: whoever learns that a row is locked has something to do about it. */
  function sending(waitedMs: number, lockMs: number): Sending {
    const leftMs = Math.max(1, callTimeoutMs - waitedMs);
    return { lockMs: Math.min(lockMs, Math.ceil(leftMs / 2)), left: countdown(environment, leftMs) };
  }

  const group = createGroup<Request, Answer>({
    server: "PostgreSQL",
    sizeMax: options.groupSizeMax,
    waitMs: callTimeoutMs,
    idOf: (request) => idOf(request.identity),
    weightOf,
    sendMany: (requests, waitedMs) =>
      sendMany(requests, sending(waitedMs, Math.min(groupLockTimeoutMs, lockTimeoutMs))),
    sendOne: (request, _, waitedMs) => sendOne(request, sending(waitedMs, lockTimeoutMs)),
    splits,
  });
  const send: typeof group = options.group ? group : (request) => sendOne(request, sending(0, lockTimeoutMs));
  return async (request) => {
    try {
      return await send(request);
    } catch (error) {
      throw toIchidoError(error, verb);
    }
  };
}
