/** One record in doubt: taken under a fence, asked about, and settled by the answer. */
import { DeadlineExceeded, withDeadline } from "../contract/deadline.ts";
import { limits } from "../contract/defaults.ts";
import { askVerify } from "./doubt.ts";
import { isInDoubt } from "../record-machine/claim.ts";
import { claimFinds, isAsSeen, retentionToldMs } from "../record-machine/seen.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { NextLooks } from "./next-looks.ts";
import type { VerifyAnswer } from "../contract/options.ts";
import type { OwnerToken } from "../contract/record.ts";
import { leaseSpareMs, type ReconciledOperation, type ReconcilerSettings } from "./reconciler-options.ts";
import type { Grant } from "./ruling.ts";
import { keyHashOf, referenceOf } from "../request/scope.ts";
import { decisionOf, type Settlement } from "./settlement.ts";
import type { Claim, StoredRecord } from "../contract/store.ts";
import type { HeldCalls } from "./store-holder.ts";

/** What one look did with the records it saw. */
export interface ReconcilerReport {
  /** Took the answer that was found. */
  readonly adopted: number;
  /** Handed back: nothing had happened. */
  readonly released: number;
  /** Gave up. */
  readonly held: number;
  /** Not known yet. */
  readonly waiting: number;
  /** Another process, or a caller, was faster. */
  readonly overtaken: number;
  /** The store failed; tried again next time. */
  readonly failed: number;
}

export type Reconciled = keyof ReconcilerReport;

/** A record in doubt that no other process works on meanwhile. */
interface Taken {
  readonly operation: ReconciledOperation;
  readonly record: StoredRecord;
  readonly claim: Claim;
  readonly grant: Grant;
  readonly ageMs: number;
}

/** A person must hear of a record while its callers still expect its answer. */
const retentionPart = 0.75;
const actor = "ichido reconciler";
/** For a `rerun` at most; the other records wait meanwhile. */
const rerunWaitMs = 60_000;

export interface Reconciliation {
  reconcileSafely(record: StoredRecord): Promise<Reconciled>;
  /** Nobody waits for the answer to the record under way any longer, nor may have to wait out its lease: the doubt stays. */
  handBack(): Promise<void>;
}

export function createReconciliation(parts: {
  readonly settings: ReconcilerSettings;
  readonly calls: HeldCalls;
  readonly looks: NextLooks;
  readonly newOwner: () => OwnerToken;
  readonly emit: IchidoListener;
}): Reconciliation {
  const { settings, calls, looks, emit } = parts;
  const { environment, verifyMs } = settings;
  const leaseMs = Math.min(verifyMs + leaseSpareMs, limits.leaseMsMax);
  /** The record that is being asked about. */
  let inHand: Claim | undefined;

  async function reconcile(record: StoredRecord): Promise<Reconciled> {
    const { identity, fingerprint } = record;
    const operation = settings.operations[identity.operation];
    // The list is a little old: a record that was taken since would be asked about twice.
    if (operation === undefined || !isAsSeen(await calls.find(identity), record)) return "overtaken";
    // Asked again by the list, once the store takes what is known here.
    if (!(await calls.writeOwn(identity))) return "overtaken";
    const owner = parts.newOwner();
    // A takeover prolongs nothing. What has expired meanwhile would be new, with the content of before: it must not stay.
    const retentionMs = limits.retentionMsMin;
    const grant = await calls.claim({ identity, owner, fingerprint, leaseMs, retentionMs, takeover: "open" });
    if (grant.outcome !== "granted") {
      looks.forget(record);
      return "overtaken";
    }
    const claim: Claim = { identity, owner, fence: grant.fence };
    try {
      if (isInDoubt(grant)) return await lookInto(operation, record, claim, grant);
      // It expired, or was handed back, between the list and the claim: nothing is left to find out.
      await calls.release(claim);
      return "overtaken";
    } catch (error) {
      calls.giveBackLater(claim);
      throw error;
    } finally {
      // A copy that is still on its way would take what is given back by now.
      if (grant.unheard === true) calls.giveBackLater(claim);
    }
  }

  async function lookInto(
    operation: ReconciledOperation,
    record: StoredRecord,
    claim: Claim,
    grant: Grant,
  ): Promise<Reconciled> {
    const found = await calls.find(record.identity);
    const ageMs = Math.max(0, (found?.updatedAtMs ?? grant.createdAtMs) - grant.createdAtMs);
    const taken: Taken = { operation, record, claim, grant, ageMs };
    inHand = claim;
    try {
      const answer = await ask(taken);
      // Ended before the decision, which is refused under a living owner. Whoever takes the record in between is held to the
      // operation's own `onUnknown`, and the decision finds another fence.
      return (await calls.suspend(claim)) === "stale" ? "overtaken" : await writeVerdict(taken, answer);
    } finally {
      inHand = undefined;
    }
  }

  async function ask({ operation: { verify }, record, grant, ageMs }: Taken): Promise<VerifyAnswer> {
    const { identity, labels } = record;
    const { attempt, canonical, stepsStarted } = grant;
    const abort = new AbortController();
    const reference = (name: string): string => referenceOf(identity, canonical, name);
    const told = stepsStarted === 0 ? [] : calls.steps(identity);
    // The store's time is not verify's: past its own, verify would be asked about a record that was handed back.
    await Promise.allSettled([told]);
    try {
      return await askVerify({ operation: identity.operation, verifyMs, environment, emit }, async () => {
        const steps = await told;
        return verify({ identity, attempt, reference, signal: abort.signal, ageMs, steps, labels });
      });
    } finally {
      abort.abort();
    }
  }

  /** It may take long: whoever waits for the look goes on without it, and it goes on beside it. */
  async function callRerun({ operation, record: { identity, labels } }: Taken): Promise<void> {
    const running = operation.rerun?.({ identity, labels });
    try {
      await withDeadline(environment, rerunWaitMs, async () => running);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      const message = `rerun of ${identity.operation} has not ended for ${rerunWaitMs} ms; it is not waited for any longer`;
      emit({ type: "warning", code: "rerun-slow", message });
    }
  }

  /** The reply to a release was lost: where the key is free, no list shows it any more, and nobody else would call `rerun`. */
  async function isFree(identity: StoredRecord["identity"], error: unknown): Promise<boolean> {
    const record = await calls.find(identity);
    if (record !== undefined && claimFinds(record) === "free") return true;
    throw error;
  }

  async function writeVerdict(taken: Taken, answer: VerifyAnswer): Promise<Reconciled> {
    const { record, claim, grant, ageMs } = taken;
    const { identity } = record;
    const settle = async (decision: Settlement["decision"], reason: string): Promise<boolean> => {
      looks.forget(record);
      const result = await calls.settle({
        identity,
        fence: claim.fence,
        decision: decisionOf(decision),
        actor,
        reason,
        unlessHeld: true,
      });
      return result === "ok";
    };
    if (answer.verdict === "found") {
      const adopt = { kind: "adopt", answer: answer.response } as const;
      return (await settle(adopt, "verify found the outcome")) ? "adopted" : "overtaken";
    }
    if (answer.verdict === "absent") {
      const released = settle({ kind: "release" }, "verify found that nothing had happened");
      if (!(await released.catch((error: unknown) => isFree(identity, error)))) return "overtaken";
      // Before a copy of this claim stands in its way.
      if (grant.unheard === true) calls.giveBackLater(claim);
      await callRerun(taken);
      return "released";
    }
    const patienceMs = Math.min(settings.giveUpAfterMs, retentionToldMs(record) * retentionPart);
    if (ageMs >= patienceMs) {
      const reason = `verify could not tell the outcome within ${Math.round(patienceMs)} ms`;
      return (await settle({ kind: "hold" }, reason)) ? "held" : "overtaken";
    }
    looks.postpone(record, patienceMs - ageMs);
    return "waiting";
  }

  return {
    async reconcileSafely(record) {
      try {
        return await reconcile(record);
      } catch (error) {
        const { identity } = record;
        const message = `the record ${keyHashOf(identity)} of ${identity.operation} could not be reconciled; it is tried again`;
        emit({ type: "warning", code: "reconcile-failed", message, error });
        return "failed";
      }
    },
    async handBack() {
      if (inHand !== undefined) await calls.suspend(inHand);
    },
  };
}
