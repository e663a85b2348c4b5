/** Calls of the MySQL store that travel together. */
import { isIchidoError } from "../../core/contract/errors.ts";
import type { Identity } from "../../core/contract/record.ts";
import { createGroup, idOf, type Group } from "../group.ts";
import { failureOf } from "./failures.ts";
import type { Run } from "./session.ts";

/** A call, and its way to the server with what is left of its time. */
export interface Asked<Request> {
  readonly request: Request;
  readonly run: Run;
}

export interface GroupedVerb<Request, Answer> {
  readonly weightOf: (request: Request) => number;
  readonly sendMany: (requests: readonly Request[]) => Promise<readonly (Answer | undefined)[]>;
  readonly sendOne: (asked: Asked<Request>, isAgain: boolean) => Promise<Answer>;
}

/**
 * A group is sent once: whatever undid it or hid its answer, each member finds its own part done or not. Not where the
 * server is known to be away: that each of them would find out again.
 */
function splits(error: unknown): boolean {
  return !isIchidoError(error) || error.code !== "store-unavailable";
}

/** A single request goes its own way, which is shorter. */
export function createGrouped<Request extends { readonly identity: Identity }, Answer>(
  { groupSizeMax, callTimeoutMs }: { readonly groupSizeMax: number; readonly callTimeoutMs: number },
  { weightOf, sendMany, sendOne }: GroupedVerb<Request, Answer>,
): Group<Asked<Request>, Answer> {
  const send = createGroup<Asked<Request>, Answer>({
    server: "the MySQL server",
    sizeMax: groupSizeMax,
    // Half of a call for waiting, half for the group.
    waitMs: callTimeoutMs / 2,
    idOf: ({ request }) => idOf(request.identity),
    weightOf: ({ request }) => weightOf(request),
    sendMany: async (asked) => (asked.length === 1 ? [undefined] : sendMany(asked.map(({ request }) => request))),
    sendOne,
    splits,
  });
  return async (asked) => {
    try {
      return await send(asked);
    } catch (error) {
      throw failureOf(error);
    }
  };
}
