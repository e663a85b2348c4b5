/**
 * The Redis store with a marker in the business database: Redis decides who may try, the marker decides what is true.
 *
 * A grant of Redis counts only once the marker says that the operation did not run, and an answer counts once the marker
 * has it: written before Redis is told, or on the caller's own transaction, so that answer and business writes commit
 * together. What Redis forgot is given back to it from the marker, whoever notices first: the owner at its next sign of
 * life, or the next claim. So a forgetful Redis costs time, never a second effect.
 *
 * What is left out: the results of finished steps, audit rows and what is said of a failed record live in Redis alone.
 * A forgotten answer is kept by the database's clock, which nothing guards; it takes a Redis that forgot and a database
 * whose clock jumped by the retention to run a key twice.
 */
import { sleep } from "../../core/deadline.ts";
import type { Environment } from "../../core/environment.ts";
import { IchidoError } from "../../core/errors.ts";
import type { Identity } from "../../core/record.ts";
import type { Claim, ClaimRequest, ClaimResult, CompleteRequest, Fenced, Store } from "../../core/store.ts";
import type { TransactionHandle } from "../../core/transaction.ts";
import type { Claimed } from "./claim.ts";
import type { MarkerRow } from "./marker/judge.ts";
import type { Marker, MarkerProof } from "./marker/sql-marker.ts";
import { bufferOf } from "./reply.ts";
import { encodeHead, encodeSight } from "./row.ts";

export interface MarkedParts {
  readonly base: Store;
  readonly marker: Marker;
  readonly environment: Environment;
  readonly nobody: string;
  readonly nameOf: (identity: Identity) => string;
  readonly claim: (request: ClaimRequest) => Promise<Claimed>;
  /** False when the record is somebody else's meanwhile. */
  readonly restore: (holder: MarkerProof, row: MarkerRow, leaseMs: number) => Promise<boolean>;
}

/** Each turn but the last gave Redis back what it forgot, or lost a race to somebody who did. */
const turnsMax = 5;
/** How long a commit is waited for before Redis is told of it; after that the next claim tells it. */
const commitMs = 30_000;
const commitPauseMs = 10;
const commitPauseMsMax = 1_000;

type Verbs = "claim" | "renew" | "complete" | "release" | "suspend" | "startStep" | "finishStep" | "settle";

export function markedVerbs(parts: MarkedParts): Pick<Store, Verbs> {
  const { base, marker, environment } = parts;

  const proofOf = ({ identity, owner, fence }: Claim): MarkerProof => ({ id: parts.nameOf(identity), owner, fence });
  const answerOf = (response: CompleteRequest["response"]) => ({
    head: encodeHead(response),
    body: bufferOf(response.body),
  });

  async function claim(request: ClaimRequest): Promise<ClaimResult> {
    const id = parts.nameOf(request.identity);
    for (let turn = 0; turn < turnsMax; turn += 1) {
      const { result, life, formerLife } = await parts.claim(request);
      if (result.outcome !== "granted") return result;
      const { raw, canonical, former } = request.fingerprint;
      const marked = await marker.claim({
        id,
        owner: request.owner,
        fence: result.fence,
        attempts: result.attempt,
        origin: result.origin,
        life,
        formerLife,
        fingerprint: Buffer.concat([raw, canonical, former ?? new Uint8Array(0)]).toString("base64url"),
        sight: encodeSight(request),
        retentionMs: request.retentionMs,
      });
      if (marked.kind === "own") return result;
      const holder = { id, owner: request.owner, fence: result.fence };
      if (marked.kind === "restore") await parts.restore(holder, marked.row, request.leaseMs);
    }
    throw new IchidoError(
      "store-unavailable",
      `Redis and the marker did not come to agree within ${turnsMax} turns; try again`,
    );
  }

  /** Redis says `stale` also when it forgot: the marker knows better, and gives it the record back. */
  async function healing<Request extends Claim & { readonly leaseMs: number }>(
    request: Request,
    verb: (again: Request) => Promise<Fenced>,
  ): Promise<Fenced> {
    let result = await verb(request);
    for (let turn = 1; result === "stale" && turn < turnsMax; turn += 1) {
      const proof = proofOf(request);
      const row = await marker.find(proof.id);
      if (row?.owner !== proof.owner || row.fence !== proof.fence || row.state === "completed") return "stale";
      // A claim that Redis granted anew gives the record back by itself, in a moment.
      if (!(await parts.restore(proof, row, request.leaseMs))) await sleep(environment, commitPauseMs * turn);
      result = await verb(request);
    }
    return result;
  }

  async function complete(request: CompleteRequest, transaction?: TransactionHandle): Promise<Fenced> {
    const result = await marker.complete(proofOf(request), answerOf(request.response), transaction);
    if (result === "stale") return "stale";
    if (transaction === undefined) await tellRedis(request);
    else void followCommit(request);
    return "ok";
  }

  /** The marker has it: a Redis that cannot be told now is told by the next claim. */
  async function tellRedis(request: CompleteRequest): Promise<void> {
    await base.complete(request).catch(() => undefined);
  }

  /** The transaction is the caller's: whether and when it commits shows in the marker alone. */
  async function followCommit(request: CompleteRequest): Promise<void> {
    const untilMs = environment.monotonicMs() + commitMs;
    const { id, owner, fence } = proofOf(request);
    for (let pauseMs = commitPauseMs; environment.monotonicMs() < untilMs;) {
      await sleep(environment, pauseMs);
      pauseMs = Math.min(2 * pauseMs, commitPauseMsMax);
      const row = await marker.find(id).catch(() => "unreachable" as const);
      if (row === "unreachable") continue;
      if (row?.owner !== owner || row.fence !== fence) return;
      if (row.state === "completed") return tellRedis(request);
    }
    return undefined;
  }

  async function settle(request: Parameters<Store["settle"]>[0]): ReturnType<Store["settle"]> {
    const id = parts.nameOf(request.identity);
    const before = await marker.find(id);
    const result = await base.settle(request);
    if (before === undefined) return result;
    const proof = { id, owner: before.owner, fence: before.fence };
    if (result === "completed") await catchUp(request.identity, proof);
    if (result !== "ok") return result;
    const { decision, reason } = request;
    if (decision.kind === "hold") await marker.hold(proof, undefined, reason);
    if (decision.kind === "release") await marker.remove(proof);
    if (decision.kind === "adopt") await marker.complete(proof, answerOf(decision.response), undefined, parts.nobody);
    return result;
  }

  /** A settlement whose marker could not be written is asked for again, and finds Redis settled already. */
  async function catchUp(identity: Identity, proof: MarkerProof): Promise<void> {
    const record = await base.find(identity);
    if (record?.response === undefined || record.fence < proof.fence) return;
    await marker.complete(proof, answerOf(record.response), undefined, record.owner);
  }

  return {
    claim(request, transaction) {
      if (transaction !== undefined) return base.claim(request, transaction);
      return claim(request);
    },
    complete,
    settle,
    renew: (requests) =>
      Promise.all(requests.map((each) => healing(each, async (again) => (await base.renew([again]))[0] ?? "stale"))),
    async release(held) {
      const removed = await marker.remove(proofOf(held));
      const released = await base.release(held);
      return removed === "ok" ? "ok" : released;
    },
    async suspend(request) {
      const { interim, holdReason } = request;
      if (interim === undefined && holdReason === undefined) return base.suspend(request);
      const proof = proofOf(request);
      const held = await marker.hold(proof, interim === undefined ? undefined : answerOf(interim), holdReason);
      if (held === "stale") return "stale";
      await base.suspend(request);
      return "ok";
    },
    async startStep(request) {
      if ((await marker.step(proofOf(request))) === "stale") return "stale";
      return healing(request, (again) => base.startStep(again));
    },
    finishStep: (request) => healing(request, (again) => base.finishStep(again)),
  };
}
