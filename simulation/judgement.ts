/** What may become of a record by one call, judged by the contract of stores and by what is promised to callers. */
import type { Fingerprint } from "../packages/ichido/src/core/contract/record.ts";
import type {
  Claim,
  ClaimRequest,
  ClaimResult,
  CompleteRequest,
  SettleRequest,
  Step,
  StepRequest,
  StoredRecord,
  SuspendRequest,
} from "../packages/ichido/src/core/contract/store.ts";
import { judgeLasting, judgeTold } from "./lasting.ts";
import type { Machine } from "./machine.ts";
import { judgePatience } from "./patience.ts";
import type { RoutePlan } from "./plan.ts";
import { idOf, isOpen, isSealed, type Seen, type World } from "./world.ts";

export const person = "a person";

export interface Change {
  readonly seen: Seen;
  readonly from: Machine;
  readonly verb: string;
  readonly request: unknown;
  readonly before: StoredRecord | undefined;
  readonly after: StoredRecord | undefined;
  readonly result: unknown;
  readonly stepsBefore: readonly Step[];
  readonly isSteady: boolean;
}

function shown(record: StoredRecord | undefined): string {
  if (record === undefined) return "absent";
  const { state, fence, owner, leaseLeftMs, holdReason, interim, attempts } = record;
  const lease = leaseLeftMs === undefined ? "" : ` lease ${Math.round(leaseLeftMs)}`;
  const seal = (holdReason === undefined ? "" : ` hold "${holdReason}"`) + (interim === undefined ? "" : " interim");
  return `${state} #${attempts} fence ${fence % 1e9} of ${owner.slice(-6)}${lease}${seal}`;
}

export function bodyText(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
}

/** A lease counts as absurd, set by a clock that has gone back since, only beyond twice the longest. */
const leaseMsAbsurd = 120_000;

/** By what its owner was granted, whatever the record says. */
function isLive(world: World, { leaseUntilMs = 0 }: Seen): boolean {
  const leftMs = leaseUntilMs - world.storeNowMs();
  return leftMs > 0 && leftMs <= leaseMsAbsurd;
}

/** What was given back with results of steps is kept for eight times its retention; the store tells times in whole ms. */
function keptUntilMs({ createdAtMs, expiresAtMs }: StoredRecord): number {
  return expiresAtMs + 7 * (expiresAtMs - createdAtMs) - 20;
}

/** Who only asks about a record runs nothing: of one that nobody else has had, nobody has to know what became. */
function leavesDoubt({ isOnlyAsked, begun }: Seen, { fence }: StoredRecord, { onUnknown }: RoutePlan): boolean {
  return onUnknown !== "rerun" && (!isOnlyAsked || begun.has(fence));
}

export function judgeExpiry(
  world: World,
  seen: Seen,
  record: StoredRecord,
  unfinished: boolean,
  isSteady: boolean,
): void {
  const route = world.route(record.identity.operation);
  const id = idOf(record.identity);
  if (record.expiresAtMs > world.storeNowMs()) world.violate("expired-early", `${id}: ${shown(record)}`);
  else if (!isSteady) world.violate("expired-unsteady", `${id}: ${shown(record)} by a clock that has not run evenly`);
  else if (record.state === "completed") return;
  else if (record.state === "failed" && record.stepsStarted > 0 && world.storeNowMs() < keptUntilMs(record)) {
    world.violate("results-forgotten", `${id}: ${shown(record)} after ${record.stepsStarted} steps`);
  } else if (isOpen(record) && isLive(world, seen)) {
    world.violate("expired-under-owner", `${id}: ${shown(record)}`);
  } else if (unfinished || (isOpen(record) && (isSealed(record) || leavesDoubt(seen, record, route)))) {
    world.violate("doubt-expired", `${id}: ${shown(record)} under ${route.onUnknown} ended by retention`);
  }
}

export function judge(world: World, change: Change): void {
  const { seen, verb, before, after, from } = change;
  const outcome =
    typeof change.result === "object" && change.result !== null && "outcome" in change.result
      ? String(change.result.outcome)
      : String(change.result);
  world.note(`store ${verb} by ${from.name} of ${seen.id}: ${outcome}; ${shown(before)} -> ${shown(after)}`);
  if (isSealed(before) && !isSealed(after)) seen.sealedUntilMs = world.nowMs;
  if (verb === "claim") judgeClaim(world, change, change.request as ClaimRequest, change.result as ClaimResult);
  else if (verb === "settle") judgeSettle(world, change, change.request as SettleRequest);
  else judgeOwned(world, change, change.request as Claim);
  judgeAnswer(world, change);
  judgeLasting(world, change);
  judgeTold(world, change);
  judgePatience(world, change);
  noteLease(world, change);
  if (before !== undefined && after !== undefined && after.fence < before.fence) {
    world.violate("fence-not-growing", `${seen.id}: ${before.fence} then ${after.fence}`);
  }
  if (after !== undefined) seen.fenceMax = Math.max(seen.fenceMax, after.fence);
}

/** A claim whose answer never came is looked for that long after it was sent, and longer where it failed later. */
const lookedForMs = 50_000;

/** Of what is granted nobody but its claimant can give back what is not run. */
export function noteGrant(world: World, from: Machine, request: ClaimRequest, result: ClaimResult): void {
  const { labels, identity } = request;
  if (result.outcome !== "granted" || labels?.["ask"] === undefined) return;
  // Given again under the same fence, it was noted when it was given first.
  if (result.resent === true || (result.origin !== "new" && result.origin !== "failed")) return;
  const { granted } = world.seenOf(identity);
  if (!granted.has(result.fence)) granted.set(result.fence, { machine: from, atMs: world.nowMs, ask: labels["ask"] });
}

/** Whether or not its answer is ever heard. */
function noteUnheard(world: World, { seen, from }: Change, request: ClaimRequest, result: ClaimResult): void {
  const former = seen.asked.get(request);
  // A copy of a question that was answered already is nobody's any more, unless its sender has made the copy.
  const isNobodys = former !== undefined && !world.sentAgain.has(request);
  const isLookedFor = world.nowMs - (world.sentMs.get(request) ?? world.nowMs) <= lookedForMs;
  if (!isNobodys && isLookedFor) noteGrant(world, from, request, result);
  if (former !== "granted") seen.asked.set(request, result.outcome);
}

function judgeClaim(world: World, change: Change, request: ClaimRequest, result: ClaimResult): void {
  const { seen, before, after, stepsBefore, isSteady } = change;
  noteUnheard(world, change, request, result);
  seen.owners.set(request.owner, change.from);
  if (request.takeover === "open") seen.askers.add(request.owner);
  if (change.from.hasExited && change.from.isUntroubled && result.outcome === "granted") {
    world.violate("shutdown-left", `${seen.id}: ${change.from.name} had closed while its claim was under way`);
  }
  if (after === undefined) {
    if (result.outcome !== "full") world.violate("claim-without-record", seen.id);
    return;
  }
  const isTaken = before === undefined || before.fence !== after.fence;
  const isNew = before === undefined || after.createdAtMs !== before.createdAtMs || after.attempts < before.attempts;
  const asks = request.takeover === "open";
  if (isTaken && after.fence <= seen.fenceMax) {
    world.violate("fence-not-growing", `${seen.id}: granted ${after.fence} after ${seen.fenceMax}`);
  }
  if (result.outcome === "granted" && after.owner !== request.owner) world.violate("two-winners", seen.id);
  if (result.outcome === "processing" && !isLive(world, seen)) {
    world.violate("kept-out", `${seen.id}: nobody is at work, ${shown(before)}`);
  }
  const isRefused = result.outcome === "mismatch" || result.outcome === "completed";
  if (isRefused && isSteady && before?.state === "completed") {
    if (before.expiresAtMs <= world.storeNowMs()) world.violate("kept-past-retention", `${seen.id}: ${shown(before)}`);
  }
  if (result.outcome === "mismatch" && before !== undefined && sameContent(before, request)) {
    world.violate("reused-untrue", `${seen.id}: refused as other content, ${shown(before)}`);
  }
  if (result.outcome === "granted" && !isTaken) judgeAgain(world, change, request);
  if (isTaken && result.outcome !== "granted") world.violate("claim-moved-fence", `${seen.id}: ${result.outcome}`);
  if (isTaken && isNew) {
    const unfinished = stepsBefore.some(({ state }) => state === "started");
    if (before !== undefined) judgeExpiry(world, seen, before, unfinished, isSteady);
    seen.life += 1;
    seen.isOnlyAsked = asks;
    seen.bornMs = world.nowMs;
    seen.steps = [];
    seen.origin = "new";
    seen.heldByPerson = false;
    seen.releasedByPerson = false;
    return;
  }
  if (!isTaken || before === undefined) return;
  world.counts.takeovers += 1;
  if (!asks) seen.isOnlyAsked = false;
  if (!sameContent(before, request)) world.violate("mismatch-granted", seen.id);
  if (isOpen(before) && isLive(world, seen) && before.owner !== request.owner) {
    world.violate("taken-under-owner", `${seen.id}: ${shown(before)}`);
  }
  if (before.state === "completed") world.violate("completed-taken", seen.id);
  if ((before.leaseLeftMs ?? 0) < 0) judgeLapse(world, seen, before);
  if (seen.hasty.get(request.owner) === before.fence) {
    world.violate("own-answer-overtaken", `${seen.id}: ${change.from.name} takes what it has an answer for`);
  }
  if (before.holdReason !== undefined) {
    world.violate("hold-overridden", `${seen.id}: taken from ${shown(before)} by ${change.from.name}`);
  }
  if (before.interim !== undefined && isOpen(before) && request.takeover === "lapsed") {
    world.violate("interim-overridden", `${seen.id}: taken from ${shown(before)} by ${change.from.name}`);
  }
  if (before.interim !== undefined && after.interim === undefined) {
    world.violate("interim-overridden", `${seen.id}: forgotten by a takeover`);
  }
  if (before.state === "failed" && isSealed(after)) {
    world.violate("sealed-anew", `${seen.id}: released, and its next owner has ${shown(after)}`);
  }
  seen.origin = before.state === "failed" ? "failed" : isSealed(before) ? "suspended" : "lapsed";
}

/** A slow handler is never overtaken while its process runs and reaches the store. */
function judgeLapse(world: World, { id }: Seen, { fence }: StoredRecord): void {
  const run = world.runs.find((each) => each.id === id && each.fence === fence);
  if (run === undefined || run.endedMs !== undefined || world.hasJumped) return;
  const { isAlive, isUntroubled, wakesAtMs } = run.machine;
  if (isAlive && wakesAtMs === undefined && run.signal?.aborted === false) {
    world.violate("trust-outlived", `${id}: ${run.machine.name} counts on a lease that is another's`);
  }
  const isInTime = world.nowMs - run.startedMs < world.plan.executionMs;
  if (isAlive && isUntroubled && isInTime) world.violate("overtaken", `${id}: ${run.machine.name} is at work`);
}

/** The same fence again: the owner sent its claim a second time. */
function judgeAgain(world: World, { seen, before }: Change, { owner }: ClaimRequest): void {
  if (before === undefined) return;
  if (before.owner !== owner) world.violate("fence-not-growing", `${seen.id}: two owners of ${before.fence}`);
  if (isSealed(before) && !isLive(world, seen)) {
    world.violate("hold-overridden", `${seen.id}: ${shown(before)} is given back to who left it in doubt`);
  }
}

/** By any reading of theirs: that of the version before is told beside that of the next one. */
function sameContent(record: StoredRecord, { fingerprint }: ClaimRequest): boolean {
  const readings = ({ raw, canonical, former }: Fingerprint): string[] =>
    [raw, canonical, former ?? canonical].map((hash) => Buffer.from(hash).toString("latin1"));
  const known = readings(record.fingerprint);
  return readings(fingerprint).some((reading) => known.includes(reading));
}

function judgeSettle(world: World, { seen, before, after, result, from }: Change, request: SettleRequest): void {
  if (result !== "ok" || before === undefined || after === undefined) {
    if (before !== undefined && after !== undefined && (after.state !== before.state || after.fence !== before.fence)) {
      world.violate("settle-refused-but-moved", `${seen.id}: ${shown(before)} -> ${shown(after)}`);
    }
    return;
  }
  const isPerson = request.actor === person;
  if (before.state === "completed") world.violate("completed-changed", `${seen.id} by settle`);
  if (before.fence !== request.fence) world.violate("stale-accepted", `${seen.id}: settle on another fence`);
  if (isOpen(before) && isLive(world, seen)) world.violate("settled-under-owner", `${seen.id}: ${shown(before)}`);
  if (!isPerson && before.holdReason !== undefined && request.decision.kind !== "hold") {
    world.violate("hold-overridden", `${seen.id}: ${request.decision.kind} by ${request.actor} (${from.name})`);
  }
  if (!isPerson && !(seen.askers.has(before.owner) && seen.owners.get(before.owner) === from)) {
    world.violate(
      "settled-unasked",
      `${seen.id}: ${request.decision.kind} by ${from.name}, which did not ask about it`,
    );
  }
  if (!isPerson && request.decision.kind === "hold" && before.state === "failed") {
    world.violate("hold-over-released", `${seen.id}: ${request.actor} holds what its owner released`);
  }
  if (request.decision.kind === "hold" && before.interim !== undefined && after.interim === undefined) {
    world.violate("interim-overridden", `${seen.id}: forgotten by a hold`);
  }
  seen.heldByPerson = request.decision.kind === "hold" && (isPerson || seen.heldByPerson);
  seen.releasedByPerson = isPerson && request.decision.kind === "release";
  if (request.decision.kind === "release") seen.origin = "person";
  if (request.decision.kind !== "hold" && after.fence <= before.fence) {
    world.violate("settle-void", `${seen.id}: after ${request.decision.kind} its owner could still write`);
  }
  const wanted = { adopt: "completed", release: "failed", hold: "unknown" }[request.decision.kind];
  if (after.state !== wanted || (wanted === "unknown" && after.holdReason === undefined)) {
    world.violate("settle-void", `${seen.id}: ${request.decision.kind} left ${shown(after)}`);
  }
}

function judgeOwned(world: World, change: Change, proof: Claim): void {
  const { seen, verb, before, after, result } = change;
  const answer: unknown = Array.isArray(result) ? result[0] : result;
  const holds = before?.owner === proof.owner && before.fence === proof.fence;
  if (answer === "stale") {
    world.counts.lost += 1;
    if (shown(before).replace(/ lease -?\d+/, "") !== shown(after).replace(/ lease -?\d+/, "")) {
      world.violate("stale-changed", `${seen.id}: ${verb}`);
    }
    return;
  }
  if (answer !== "ok") return;
  if (!holds) {
    world.violate("stale-accepted", `${seen.id}: ${verb} with fence ${proof.fence % 1e9}; ${shown(before)}`);
    return;
  }
  if (verb === "complete") seen.completed.add(proof.fence);
  const isRepeated =
    verb === "complete" ? before.state === "completed" : verb === "release" && before.state === "failed";
  if (!isOpen(before) && !isRepeated) {
    world.violate("stale-accepted", `${seen.id}: ${verb} of what its owner has ended; ${shown(before)}`);
  }
  const { onUnknown } = world.route(proof.identity.operation);
  if (verb === "release") {
    const isRunning = world.runs.some(
      (run) => run.id === seen.id && run.fence === proof.fence && run.machine.isAlive && run.endedMs === undefined,
    );
    if (isRunning) world.violate("released-while-running", `${seen.id}: ${shown(before)}`);
    if (before.state === "completed") world.violate("completed-changed", `${seen.id} by release`);
    const run = world.runs.find(({ id, fence }) => id === seen.id && fence === proof.fence);
    const open = change.stepsBefore.find(({ name, state }) => state === "started" && run?.called.has(name) === true);
    if (open !== undefined) world.violate("open-step-released", `${seen.id}: ${open.name} has no result`);
    if (seen.heldByPerson && after?.holdReason === undefined) {
      world.violate("hold-overridden", `${seen.id}: released by ${change.from.name}`);
    }
    const inDoubt = seen.origin === "lapsed" || seen.origin === "suspended";
    const isUntouched = !seen.begun.has(proof.fence) && !seen.cleared.has(proof.fence);
    if (inDoubt && isUntouched && onUnknown !== "rerun") {
      world.violate("doubt-released", `${seen.id}: ${shown(before)} was never asked about`);
    }
  }
  const isUntouched = !seen.begun.has(proof.fence) && (seen.origin === "new" || seen.origin === "failed");
  if (verb === "suspend" && isOpen(before) && isUntouched) {
    world.violate("untouched-left-open", `${seen.id}: nothing ran under ${shown(before)}, and it ends as a doubt`);
  }
  if (verb === "startStep") seen.releasedByPerson = false;
  if (verb === "suspend" && isSealed(before) && !isSealed(after)) {
    world.violate("hold-overridden", `${seen.id}: ${shown(before)} forgotten by suspending`);
  }
  const { interim } = proof as Partial<SuspendRequest>;
  if (verb === "suspend" && (before.interim ?? interim) !== undefined && after?.interim === undefined) {
    world.violate("interim-overridden", `${seen.id}: ${shown(before)} forgotten by suspending`);
  }
}

/** What a step came to stays, whoever starts or finishes it again; until then its last start is the one that counts. */
export function judgeSteps(world: World, change: Change, after: readonly Step[]): void {
  const { seen, verb, request, result, stepsBefore: before } = change;
  seen.steps = after;
  const started = after.find(({ name }) => name === (request as Partial<StepRequest>).name);
  if (verb === "startStep" && result === "ok" && started?.state === "started") {
    const isOld = started.lastStartedAtMs !== world.storeNowMs() || started.ageMs > 2;
    if (isOld) world.violate("step-start-lost", `${seen.id}: ${started.name}`);
    seen.starts.set(`${(request as StepRequest).fence} ${started.name}`, world.nowMs);
  }
  const { actor } = request as Partial<SettleRequest>;
  const isPersonal = verb === "settle" && actor === person;
  for (const { name, state, finishedAtMs, lastStartedAtMs } of before) {
    const now = after.find((each) => each.name === name);
    // Only a person may say that it did not happen.
    if (now === undefined && result === "ok" && !isPersonal) world.violate("step-forgotten", `${seen.id}: ${name}`);
    if (state !== "finished") continue;
    if (now?.finishedAtMs !== finishedAtMs || now?.lastStartedAtMs !== lastStartedAtMs) {
      world.violate("step-changed", `${seen.id}: ${name} was finished`);
    }
  }
}

/** The lease that the owner may count on from here. */
function noteLease(world: World, { seen, verb, request, result }: Change): void {
  const { leaseMs } = request as Partial<ClaimRequest>;
  const untilMs = world.storeNowMs() + (leaseMs ?? 0);
  if (verb === "claim") {
    if ((result as ClaimResult).outcome === "granted") seen.leaseUntilMs = untilMs;
    return;
  }
  const answer: unknown = Array.isArray(result) ? result[0] : result;
  if (answer !== "ok") return;
  // An ended lease stays ended.
  if (leaseMs === undefined) seen.leaseUntilMs = undefined;
  else if (seen.leaseUntilMs !== undefined) seen.leaseUntilMs = untilMs;
}

function judgeAnswer(world: World, { seen, verb, before, after, request }: Change): void {
  if (before?.state === "completed") {
    const same =
      after?.state === "completed" &&
      after.fence === before.fence &&
      before.response !== undefined &&
      after.response !== undefined &&
      bodyText(after.response.body) === bodyText(before.response.body);
    const isNewLife = verb === "claim" && isOpen(after) && after.createdAtMs !== before.createdAtMs;
    if (!same && !isNewLife) world.violate("completed-changed", `${seen.id} by ${verb}`);
    return;
  }
  if (after?.state !== "completed" || after.response === undefined) return;
  const text = bodyText(after.response.body);
  const isForgotten = after.response.kind === "tombstone";
  if (isForgotten) seen.isForgotten = true;
  else {
    seen.answers.set(seen.life, text);
    seen.endsMs.set(text, after.expiresAtMs);
  }
  if (verb === "complete" && bodyText((request as CompleteRequest).response.body) !== text) {
    world.violate("stored-other", seen.id);
  }
  if (
    /urn:ichido:problem/.test(text) ||
    [401, 403, 408, 429].includes(after.response.status) ||
    after.response.status >= 500
  ) {
    world.violate("refusal-stored", `${seen.id}: ${after.response.status} ${text}`);
  }
  if (!isForgotten && !text.includes(JSON.stringify(seen.id)))
    world.violate("answer-foreign", `${seen.id} stored ${text}`);
}
