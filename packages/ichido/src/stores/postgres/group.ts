/**
 * Requests that travel together. What is asked in one turn of the event loop leaves at the end of it; what comes while
 * that is under way gathers and leaves as one when it returns. So a single request waits for nobody, and a crowd shares
 * its commits. A group holds each identity once, because one statement cannot judge a row twice, and is sorted, because
 * rows are locked in that order.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import { DeadlineError } from "./failures.ts";

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
  /** Whether a group that failed with this error may fare better one by one. */
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

  /** After all callers that run in this turn had their say, before any input or output. */
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
