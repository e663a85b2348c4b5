/** Claims and completions of the PostgreSQL store, in groups. */
import type { Identity } from "../../core/contract/record.ts";
import { createGroup, idOf, type Group } from "../group.ts";
import type { StoreParts } from "./claim.ts";
import { failureKind, toIchidoError } from "./failures.ts";

/** A group is not patient: its members are asked for again one by one, so that one locked row costs the others little. */
const groupLockTimeoutMs = 50;

/** One member's row or value may be the reason, unless the server could not be reached at all. */
function splits(error: unknown): boolean {
  const kind = failureKind(error);
  return kind === "locked" || kind === "conflict" || kind === "refused";
}

export interface GroupedVerb<Request, Answer> {
  readonly weightOf: (request: Request) => number;
  readonly sendMany: (requests: readonly Request[], lockTimeoutMs: number) => Promise<readonly Answer[]>;
  readonly sendOne: (request: Request) => Promise<Answer>;
}

/** A verb in groups, or by itself where the user wants no groups. */
export function createGrouped<Request extends { readonly identity: Identity }, Answer>(
  { options }: StoreParts,
  verb: "claim" | "complete",
  { weightOf, sendMany, sendOne }: GroupedVerb<Request, Answer>,
): Group<Request, Answer> {
  const group = createGroup<Request, Answer>({
    server: "PostgreSQL",
    sizeMax: options.groupSizeMax,
    waitMs: options.callTimeoutMs,
    idOf: (request) => idOf(request.identity),
    weightOf,
    sendMany: (requests) => sendMany(requests, Math.min(groupLockTimeoutMs, options.lockTimeoutMs)),
    sendOne,
    splits,
  });
  const send = options.group ? group : sendOne;
  return async (request) => {
    try {
      return await send(request);
    } catch (error) {
      throw toIchidoError(error, verb);
    }
  };
}
