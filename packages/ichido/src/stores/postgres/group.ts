/**
 * Requests that travel together. Requests of one iteration of the event loop leave at its end. Requests that come while
 * a group is under way gather, and leave as one group when it returns. So a single request does not wait, and many
 * requests share a commit. A group holds each identity once, because one statement cannot judge a row twice, and is
 * sorted, because rows are locked in that order.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import type { Identity } from "../../core/contract/record.ts";
import type { StoreParts } from "./claim.ts";
import { DeadlineError, failureKind, toIchidoError } from "./failures.ts";

export interface GroupOptions<Request, Answer> {
  readonly sizeMax: number;
  /** A request that could not leave within this time is refused and never sent: its caller has left. */
  readonly waitMs: number;
  /** Two requests with the same id never travel together. */
  idOf(request: Request): string;
  /** What the requests of one group may weigh together (bytes of bodies); heavier ones travel alone. */
  weightOf(request: Request): number;
  /** Answers in the order asked. */
  sendMany(requests: readonly Request[]): Promise<readonly Answer[]>;
  /** The patient way, for one request that a group could not carry. */
  sendOne(request: Request): Promise<Answer>;
  /** Whether the requests of a group that failed with this error may succeed one by one. */
  splits(error: unknown): boolean;
}

export type Group<Request, Answer> = (request: Request) => Promise<Answer>;

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly id: string;
  readonly weight: number;
  readonly sinceMs: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Groups under way at once. More than one, so that a group that waits for a lock does not hold up the others. */
const underWayMax = 4;
/** How long to gather behind a group that does not return. */
const gatherMs = 10;
const weightMax = 1_048_576;
const waitingMax = 10_000;

export function createGroup<Request, Answer>(options: GroupOptions<Request, Answer>): Group<Request, Answer> {
  let waiting: Waiting<Request, Answer>[] = [];
  let underWay = 0;
  let gathering: NodeJS.Timeout | undefined;
  let leaving = false;

  function send(request: Request): Promise<Answer> {
    const weight = options.weightOf(request);
    if (weight > weightMax / 2) return options.sendOne(request);
    if (waiting.length >= waitingMax) {
      return Promise.reject(
        new IchidoError(
          "store-unavailable",
          `${waitingMax} calls already wait for PostgreSQL; the server is too slow for what this process asks of it`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      waiting.push({ request, id: options.idOf(request), weight, sinceMs: performance.now(), resolve, reject });
      if (underWay === 0 || waiting.length >= options.sizeMax) leaveSoon();
      else gathering ??= setTimeout(leaveSoon, gatherMs);
    });
  }

  /** After all callers of this iteration of the event loop have asked, before any input or output. */
  function leaveSoon(): void {
    clearTimeout(gathering);
    gathering = undefined;
    if (leaving || underWay >= underWayMax) return;
    leaving = true;
    process.nextTick(leave);
  }

  function leave(): void {
    leaving = false;
    const group = takeGroup();
    if (group.length === 0) return;
    underWay += 1;
    void carry(group).finally(() => {
      underWay -= 1;
      if (waiting.length > 0) leaveSoon();
    });
  }

  function takeGroup(): Waiting<Request, Answer>[] {
    const ids = new Set<string>();
    const group: Waiting<Request, Answer>[] = [];
    const rest: Waiting<Request, Answer>[] = [];
    let weight = 0;
    const nowMs = performance.now();
    for (const each of waiting) {
      if (nowMs - each.sinceMs > options.waitMs) {
        each.reject(new DeadlineError(`could not be sent within ${options.waitMs} ms`));
        continue;
      }
      const fits = group.length < options.sizeMax && !ids.has(each.id) && weight + each.weight <= weightMax;
      (fits ? group : rest).push(each);
      if (!fits) continue;
      ids.add(each.id);
      weight += each.weight;
    }
    waiting = rest;
    return group.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  }

  async function carry(group: readonly Waiting<Request, Answer>[]): Promise<void> {
    try {
      const answers = await options.sendMany(group.map((each) => each.request));
      for (const [index, each] of group.entries()) each.resolve(answers[index] as Answer);
    } catch (error) {
      for (const each of group) {
        if (options.splits(error)) options.sendOne(each.request).then(each.resolve, each.reject);
        else each.reject(error);
      }
    }
  }

  return send;
}

/** A group is not patient: its members are asked for again one by one, so that one locked row costs the others little. */
const groupLockTimeoutMs = 50;

/** Orders by key, then by scope, alike in every process. */
export function idOf(identity: Identity): string {
  return `${identity.key}\0${Buffer.from(identity.scopeHash).toString("latin1")}`;
}

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
