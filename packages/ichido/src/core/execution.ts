/** One attempt that owns its key: from the grant to the moment its outcome is written down or handed over. */
import type { Context } from "./context.ts";
import type { Execution, HandlerOutcome, Settled } from "./decision.ts";
import { sleep } from "./deadline.ts";
import { fraction, type Environment } from "./environment.ts";
import type { IchidoListener } from "./events.ts";
import type { FaultPoint } from "./faults.ts";
import type { Heartbeat, LiveClaim } from "./heartbeat.ts";
import type { NeutralResponse } from "./message.ts";
import type { ResolvedRoute } from "./options.ts";
import type { StoredResponse } from "./record.ts";
import { recordedOf, tombstoneOf, verdictOn } from "./recorder.ts";
import { referenceOf } from "./reference.ts";
import { keyHashOf } from "./scope.ts";
import type { Claim, ClaimResult, Fenced } from "./store.ts";
import type { StoreCalls } from "./store-calls.ts";

export type Grant = Extract<ClaimResult, { outcome: "granted" }>;

export interface ExecutionParts {
  readonly claim: Claim;
  readonly grant: Grant;
  readonly route: ResolvedRoute<never>;
  readonly startedMs: number;
  readonly calls: StoreCalls;
  readonly heartbeat: Heartbeat;
  readonly environment: Environment;
  readonly emit: IchidoListener;
  readonly faults: FaultPoint | undefined;
  /** What callers are told when the fence was lost: the record is the truth. */
  readonly truth: () => Promise<NeutralResponse>;
  /** Background work that `close()` must wait for. */
  readonly track: (work: Promise<void>) => void;
  readonly onDone: () => void;
}

/** What the engine keeps in hand beyond what an adapter sees. */
export interface LiveExecution extends Execution {
  /** The handler was called. Before that, a shutdown may give the key back. */
  started: boolean;
  /** Resolves when the outcome was written, handed over or given up. */
  readonly done: Promise<void>;
  /** Stores an answer that was found rather than made. */
  adopt(response: StoredResponse): Promise<Fenced>;
  /** Ends the lease, leaving the record to `onUnknown`. */
  handOver(holdReason?: string): Promise<void>;
  giveBack(): Promise<void>;
}

/** Lines added where the answer is true but could not be written down. */
const notStored: Settled = { kind: "send", addHeaders: [["idempotency-stored", "false"]] };
const sendAsIs: Settled = { kind: "send", addHeaders: [] };

const retryDelayMsFirst = 50;
const retryDelayMsMax = 2_000;

export function createExecution(parts: ExecutionParts): LiveExecution {
  const { claim, grant, route, calls, environment, emit } = parts;
  const { identity } = claim;
  const keyHash = keyHashOf(identity);
  const abort = new AbortController();
  let releasing = false;
  let finish: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });

  const live: LiveClaim = {
    renewal: { ...claim, leaseMs: route.leaseMs },
    confirmedMs: parts.startedMs,
    startedMs: parts.startedMs,
    lost: false,
    lose(reason) {
      emit({ type: "lease-lost", operation: identity.operation, keyHash, reason });
      abort.abort(new Error(`the lease of this attempt was lost (${reason})`));
    },
  };
  parts.heartbeat.add(live);

  function end(): void {
    parts.heartbeat.remove(live);
    parts.onDone();
    finish();
  }

  function fenced(verb: string, answer: Fenced): Fenced {
    if (answer === "stale") emit({ type: "fence-rejected", operation: identity.operation, keyHash, verb });
    return answer;
  }

  /** Goes on trying after the caller was answered, for as long as the lease could still be ours. */
  async function retryInBackground(verb: string, write: () => Promise<Fenced>): Promise<void> {
    const untilMs = live.confirmedMs + route.leaseMs;
    let delayMs = retryDelayMsFirst;
    while (environment.monotonicMs() < untilMs) {
      await sleep(environment, delayMs * (0.5 + fraction(environment) / 2));
      try {
        fenced(verb, await write());
        return;
      } catch {
        delayMs = Math.min(delayMs * 2, retryDelayMsMax);
      }
    }
  }

  /** `failed`: nobody knows yet; the write goes on in the background. */
  async function writeDown(verb: string, write: () => Promise<Fenced>): Promise<Fenced | "failed"> {
    try {
      return fenced(verb, await write());
    } catch (error) {
      emit({ type: "not-stored", operation: identity.operation, keyHash, error });
      parts.track(retryInBackground(verb, write));
      return "failed";
    }
  }

  async function keep(response: StoredResponse): Promise<Settled> {
    const answer = await writeDown("complete", () => calls.complete({ ...claim, response }));
    if (answer === "stale") return { kind: "replace", response: await parts.truth() };
    return answer === "failed" && route.enforce ? notStored : sendAsIs;
  }

  async function leaveOpen(holdReason: string): Promise<void> {
    if (route.onUnknown === "rerun") {
      await writeDown("release", () => calls.release(claim));
    } else {
      const hold = route.onUnknown === "hold" ? { holdReason } : {};
      await writeDown("suspend", () => calls.suspend({ ...claim, ...hold }));
    }
  }

  async function conclude(outcome: HandlerOutcome): Promise<Settled> {
    if (releasing) {
      await writeDown("release", () => calls.release(claim));
      return sendAsIs;
    }
    if (outcome.kind !== "answered") {
      await leaveOpen(outcome.kind === "threw" ? "the handler threw" : "the connection broke under the answer");
      return sendAsIs;
    }
    const { response } = outcome;
    const verdict = verdictOn(response.status, route.keep);
    if (verdict === "keep") {
      return keep(response.body.length > route.bodyBytesMax ? tombstoneOf(response) : recordedOf(response));
    }
    if (verdict === "release") await writeDown("release", () => calls.release(claim));
    else await leaveOpen(`the handler answered ${response.status}`);
    return sendAsIs;
  }

  async function settled(status: number | undefined, work: () => Promise<Settled>): Promise<Settled> {
    try {
      await parts.faults?.("after-handler");
      return await work();
    } catch (error) {
      emit({ type: "not-stored", operation: identity.operation, keyHash, error });
      return route.enforce ? notStored : sendAsIs;
    } finally {
      end();
      const durationMs = environment.monotonicMs() - parts.startedMs;
      const { operation } = identity;
      const { attempt } = grant;
      emit({
        type: "request",
        operation,
        outcome: "executed",
        observed: !route.enforce,
        status,
        durationMs,
        keyHash,
        attempt,
      });
    }
  }

  const context: Context = {
    key: identity.key,
    attempt: grant.attempt,
    fence: grant.fence,
    signal: abort.signal,
    reference: (name) => referenceOf(identity, grant.canonical, name),
    release() {
      releasing = true;
    },
  };

  return {
    context,
    bodyBytesMax: route.bodyBytesMax,
    started: false,
    done,
    settle: (outcome) =>
      settled(outcome.kind === "answered" ? outcome.response.status : undefined, () => conclude(outcome)),
    beginStream: (head) =>
      settled(head.status, () => {
        const verdict = releasing ? "release" : verdictOn(head.status, route.keep);
        return verdict === "keep"
          ? keep(tombstoneOf(head))
          : conclude({ kind: "answered", response: { ...head, body: empty } });
      }),
    async adopt(response) {
      try {
        return fenced("complete", await calls.complete({ ...claim, response }));
      } finally {
        end();
      }
    },
    async handOver(holdReason) {
      await calls.suspend({ ...claim, ...(holdReason === undefined ? {} : { holdReason }) }).catch(() => "stale");
      end();
    },
    async giveBack() {
      await calls.release(claim).catch(() => "stale");
      end();
    },
  };
}

const empty = new Uint8Array(0);
