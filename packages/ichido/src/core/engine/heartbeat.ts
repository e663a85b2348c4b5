/**
 * Keeps the leases of all live claims of this process: those that are not being renewed already go out together, in one
 * store call per beat. A call that hangs does not delay other renewals. Beside the beats, each claim stops trusting its
 * lease in time by the monotonic clock, whatever the store does.
 */
import { limits } from "../contract/defaults.ts";
import type { Environment, Timer } from "../contract/environment.ts";
import { Chain, type Link } from "../contract/chain.ts";
import type { RenewRequest } from "../contract/store.ts";
import type { StoreCalls } from "./store-calls.ts";

export type LossReason = "stale" | "unreachable" | "execution-limit";

export interface LiveClaim extends Link<LiveClaim> {
  readonly renewal: RenewRequest;
  /** When the store last confirmed the lease: the moment the request was sent, the latest that is surely safe. */
  confirmedMs: number;
  readonly startedMs: number;
  /** The lease can no longer be counted on. Called at most once. */
  lose(reason: LossReason): void;
  lost: boolean;
  /** A transaction of its own has the record: nobody takes it over before that has ended. */
  readonly holder: { readonly holdsRecord: boolean };
  /** The heartbeat's own: when the next renewal is due. */
  dueMs: number;
  renewing: boolean;
  isLive: boolean;
}

/** The lease is renewed after this share of it, and tried again after the other where the record was locked. */
const renewedShare = 1 / 3;
const lockedShare = 1 / 20;

/** A claimant stops trusting its lease at this share of it, so that it stops before its successor can start. */
const trustedShare = 0.8;

export function isTrusted(claim: LiveClaim, nowMs: number): boolean {
  return !claim.lost && nowMs < trustEndMs(claim);
}

function trustEndMs(claim: LiveClaim): number {
  return claim.confirmedMs + claim.renewal.leaseMs * trustedShare;
}

export interface Heartbeat {
  add(claim: LiveClaim): void;
  remove(claim: LiveClaim): void;
  readonly size: number;
  stop(): void;
}

/** A timer for the earliest of many moments: armed again only for an earlier one, and never put off once it is due. */
function createAlarm(environment: Environment, ring: () => void): { at(dueMs: number): void; stop(): void } {
  let timer: Timer | undefined;
  let armedMs = Number.POSITIVE_INFINITY;
  return {
    at(dueMs) {
      if (dueMs >= armedMs || armedMs <= environment.monotonicMs()) return;
      timer?.cancel();
      armedMs = dueMs;
      timer = environment.after(Math.max(1, dueMs - environment.monotonicMs()), () => {
        armedMs = Number.POSITIVE_INFINITY;
        ring();
      });
    },
    stop() {
      timer?.cancel();
    },
  };
}

export function createHeartbeat(parts: {
  readonly calls: Pick<StoreCalls, "renew">;
  readonly environment: Environment;
  readonly executionMs: number;
}): Heartbeat {
  const { calls, environment } = parts;
  const live = new Chain<LiveClaim>();
  let size = 0;
  const beats = createAlarm(environment, beat);
  const expiryAlarm = createAlarm(environment, distrustLapsing);
  let stopped = false;

  function remove(claim: LiveClaim): boolean {
    if (!claim.isLive) return false;
    claim.isLive = false;
    size -= 1;
    live.remove(claim);
    return true;
  }

  function lose(claim: LiveClaim, reason: LossReason): void {
    if (claim.lost) return;
    claim.lost = true;
    claim.lose(reason);
  }

  /** All that can be renewed goes out at once, so that one statement serves as many as possible. */
  function beat(): void {
    const nowMs = environment.monotonicMs();
    const ready: LiveClaim[] = [];
    for (const claim of live.all()) {
      if (!claim.isLive) continue;
      if (nowMs - claim.startedMs >= parts.executionMs) {
        remove(claim);
        lose(claim, "execution-limit");
      } else if (!claim.renewing) {
        ready.push(claim);
      }
    }
    for (let start = 0; start < ready.length; start += limits.renewBatchMax) {
      void renewBatch(ready.slice(start, start + limits.renewBatchMax));
    }
  }

  async function renewBatch(batch: readonly LiveClaim[]): Promise<void> {
    const sentMs = environment.monotonicMs();
    let shortestMs: number = limits.leaseMsMax;
    for (const claim of batch) {
      shortestMs = Math.min(shortestMs, claim.renewal.leaseMs);
      claim.dueMs = sentMs + claim.renewal.leaseMs * renewedShare;
      claim.renewing = true;
    }
    try {
      const requests = batch.map((claim) => claim.renewal);
      const answers = await calls.renew(requests, shortestMs * renewedShare);
      batch.forEach((claim, index) => {
        const answer = answers[index];
        const isHeld = claim.holder.holdsRecord;
        if (answer === "ok" || (answer === "locked" && isHeld)) claim.confirmedMs = sentMs;
        else if (answer === "locked")
          claim.dueMs = sentMs + claim.renewal.leaseMs * (claim.lost ? renewedShare : lockedShare);
        // Its own transaction has just completed the record: what is to be thought of that, its end will tell.
        else if (isHeld) return;
        else if (remove(claim)) lose(claim, "stale");
      });
    } catch {
      // The next beat tries again; meanwhile each claim judges its own lease by the monotonic clock.
    }
    for (const claim of batch) {
      claim.renewing = false;
      if (claim.isLive) watch(claim);
    }
  }

  /** Ends the trust in every lease whose time is nearly up. It may still be renewed, if no other owner has taken it. */
  function distrustLapsing(): void {
    const nowMs = environment.monotonicMs();
    for (const claim of live.all()) {
      if (claim.lost || !claim.isLive) continue;
      if (nowMs >= trustEndMs(claim)) lose(claim, "unreachable");
      else expiryAlarm.at(trustEndMs(claim));
    }
  }

  function watch(claim: LiveClaim): void {
    if (stopped) return;
    beats.at(claim.dueMs);
    if (!claim.lost) expiryAlarm.at(trustEndMs(claim));
  }

  return {
    add(claim) {
      claim.isLive = true;
      claim.dueMs = claim.confirmedMs + claim.renewal.leaseMs * renewedShare;
      size += 1;
      live.add(claim);
      watch(claim);
    },
    remove: (claim) => void remove(claim),
    get size() {
      return size;
    },
    stop() {
      stopped = true;
      beats.stop();
      expiryAlarm.stop();
    },
  };
}
