/**
 * Requests that travel together. Requests of one iteration of the event loop leave at its end, a crowd as two groups at
 * once: while the server works on one, this process works on the answers of another. Requests that come while a group
 * is under way gather, and leave when it returns. So a single request does not wait, and many requests share a commit. A
 * group holds each identity once, because one statement cannot judge a row twice, and is sorted, because rows are locked
 * in that order.
 */
import { IchidoError } from "../core/contract/errors.ts";
import type { Identity } from "../core/contract/record.ts";

export interface GroupOptions<Request, Answer> {
  /** The server, as messages name it. */
  readonly server: string;
  readonly sizeMax: number;
  /** A request that could not leave within this time is refused and never sent: its caller has left. */
  readonly waitMs: number;
  /** Two requests with the same id never travel together. */
  idOf(request: Request): string;
  /** What the requests of one group may weigh together (bytes of bodies); heavier ones travel alone. */
  weightOf(request: Request): number;
  /**
   * Answers in the order asked; undefined for a request that a group cannot carry. `waitedMs`: since the first of them was
   * asked for.
   */
  sendMany(requests: readonly Request[], waitedMs: number): Promise<readonly (Answer | undefined)[]>;
  /**
   * The patient way, for one request that a group could not carry. `isAgain`: a group that failed may have carried it.
   * `waitedMs`: since it was asked for.
   */
  sendOne(request: Request, isAgain: boolean, waitedMs: number): Promise<Answer>;
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

/**
 * Groups under way at once. More than one, so that a group that waits for a lock does not hold up the others, and that the
 * server works while this process does; not many, because a group costs its server as much as a dozen of its members.
 */
const underWayMax = 2;
/** How long to gather behind a group that does not return. */
const gatherMs = 10;
/** Of the time that a request may wait, how much younger than another one of its group it may be: they have one time. */
const youngerPart = 1 / 8;
const weightMax = 1_048_576;
const waitingMax = 10_000;

export function createGroup<Request, Answer>(options: GroupOptions<Request, Answer>): Group<Request, Answer> {
  let waiting: Waiting<Request, Answer>[] = [];
  let underWay = 0;
  let gathering: NodeJS.Timeout | undefined;
  let leaving = false;

  function send(request: Request): Promise<Answer> {
    const weight = options.weightOf(request);
    if (weight > weightMax / 2) return options.sendOne(request, false, 0);
    if (waiting.length >= waitingMax) {
      return Promise.reject(
        new IchidoError(
          "store-unavailable",
          `${waitingMax} calls already wait for ${options.server}; the server is too slow for what this process asks of it`,
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
    const { groups, rest } = groupsOf(waiting, options, underWayMax - underWay);
    waiting = rest;
    for (const group of groups) {
      underWay += 1;
      void carry(group).finally(() => {
        underWay -= 1;
        if (waiting.length > 0) leaveSoon();
      });
    }
  }

  async function carry(group: readonly Waiting<Request, Answer>[]): Promise<void> {
    try {
      const sinceMs = Math.min(...group.map((each) => each.sinceMs));
      const answers = await options.sendMany(
        group.map((each) => each.request),
        performance.now() - sinceMs,
      );
      for (const [index, each] of group.entries()) {
        const answer = answers[index];
        if (answer === undefined) sendAlone(each, false);
        else each.resolve(answer);
      }
    } catch (error) {
      for (const each of group) {
        if (options.splits(error)) sendAlone(each, true);
        else each.reject(error);
      }
    }
  }

  function sendAlone({ request, sinceMs, resolve, reject }: Waiting<Request, Answer>, isAgain: boolean): void {
    options.sendOne(request, isAgain, performance.now() - sinceMs).then(resolve, reject);
  }

  return send;
}

/**
 * Who leaves now, in at most so many groups, and who waits for the next time. No identity is in two of the groups: it would
 * wait for itself.
 */
function groupsOf<Request, Answer>(
  waiting: readonly Waiting<Request, Answer>[],
  { sizeMax, waitMs, server }: GroupOptions<Request, Answer>,
  groupsMax: number,
) {
  const ids = new Set<string>();
  const groups: Waiting<Request, Answer>[][] = [];
  const rest: Waiting<Request, Answer>[] = [];
  let group: Waiting<Request, Answer>[] = [];
  let weight = 0;
  /** Of the group; whoever waits longest comes first. */
  let sinceMs = 0;
  const nowMs = performance.now();
  for (const each of waiting) {
    if (nowMs - each.sinceMs > waitMs) {
      each.reject(tooLate({ server, waitMs }));
      continue;
    }
    const isFull =
      groups.length === 0 ||
      group.length >= sizeMax ||
      weight + each.weight > weightMax ||
      each.sinceMs - sinceMs > waitMs * youngerPart;
    if (ids.has(each.id) || (isFull && groups.length >= groupsMax)) {
      rest.push(each);
      continue;
    }
    if (isFull) {
      groups.push((group = []));
      weight = 0;
      sinceMs = each.sinceMs;
    }
    group.push(each);
    ids.add(each.id);
    weight += each.weight;
  }
  return { groups: groups.map((one) => one.toSorted((first, other) => (first.id < other.id ? -1 : 1))), rest };
}

function tooLate({ server, waitMs }: Pick<GroupOptions<never, never>, "server" | "waitMs">): IchidoError {
  return new IchidoError("store-unavailable", `could not be sent to ${server} within ${waitMs} ms`);
}

/** Orders by key, then by scope, alike in every process. */
export function idOf(identity: Pick<Identity, "key" | "scopeHash">): string {
  return `${identity.key}\0${Buffer.from(identity.scopeHash).toString("latin1")}`;
}
