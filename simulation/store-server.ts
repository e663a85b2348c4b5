/**
 * The store at the far end of the network: the memory store, by a clock of the history's own, with a watcher that reads the
 * record before and after every call and judges what became of it. It knows the store by its contract alone.
 */
import type { Identity } from "../packages/ichido/src/core/record.ts";
import type {
  Claim,
  ClaimRequest,
  ClaimResult,
  CompleteRequest,
  SettleRequest,
  Store,
  StoredRecord,
} from "../packages/ichido/src/core/store.ts";
import { memoryStore } from "../packages/ichido/src/stores/memory/index.ts";
import { createLocks, type OpenTransaction, type RowWrite } from "./database.ts";
import type { Machine } from "./machine.ts";
import { idOf, isSealed, type Seen, type World } from "./world.ts";

export const person = "a person";

export interface StoreServer {
  readonly store: Store;
  /** One call, from its arrival to its effect, as one atomic step. */
  handle(from: Machine, verb: string, args: readonly unknown[]): Promise<unknown>;
  begin(from: Machine): OpenTransaction;
  /** A statement on a transaction. */
  on(transaction: OpenTransaction, statement: Statement): Promise<unknown>;
  /** The connection is gone. */
  broken(transaction: OpenTransaction): void;
}

export type Statement =
  | { readonly verb: "complete"; readonly request: CompleteRequest }
  | { readonly verb: "write"; readonly row: RowWrite }
  | { readonly verb: "commit" | "rollback" };

type Method = (...args: readonly unknown[]) => Promise<unknown>;

const silent = new Set(["watch", "ping", "tick", "list", "stats", "find", "steps", "audit", "close"]);

export function createStoreServer(world: World): StoreServer {
  const store = memoryStore({
    nowMs: () => world.storeNowMs(),
    environment: { after: (delayMs, run) => world.scheduler.after(delayMs, run) },
  });
  const methods = store as unknown as Readonly<Record<string, Method>>;

  function call(verb: string, args: readonly unknown[]): Promise<unknown> {
    const method = methods[verb];
    if (method === undefined) return Promise.reject(new Error(`the store has no ${verb}`));
    return method.apply(store, [...args]);
  }

  async function one(
    from: Machine,
    verb: string,
    request: { readonly identity: Identity },
    args: readonly unknown[],
  ): Promise<unknown> {
    const seen = world.seenOf(request.identity);
    const before = await store.find(request.identity);
    const isPastDue = before !== undefined && before.expiresAtMs <= world.storeNowMs();
    const stepsBefore = isPastDue && verb === "claim" ? await store.steps(request.identity) : [];
    const result = await call(verb, args);
    const after = await store.find(request.identity);
    const unfinished = stepsBefore.some(({ state }) => state === "started");
    judge(world, { seen, from, verb, request, before, after, result, unfinished });
    seen.record = after;
    return result;
  }

  async function swept(args: readonly unknown[]): Promise<unknown> {
    const before = new Map<Seen, { readonly record: StoredRecord; readonly unfinished: boolean }>();
    for (const seen of world.seen.values()) {
      if (seen.record === undefined) continue;
      const { identity } = seen.record;
      const record = await store.find(identity);
      const unfinished = (await store.steps(identity)).some(({ state }) => state === "started");
      if (record !== undefined) before.set(seen, { record, unfinished });
    }
    const result = await call("sweep", args);
    for (const [seen, { record, unfinished }] of before) {
      if ((await store.find(record.identity)) !== undefined) continue;
      judgeExpiry(world, record, unfinished);
      seen.record = undefined;
    }
    return result;
  }

  const locks = createLocks(world);
  const lockMs = world.plan.leaseMs * 0.3;
  let transactions = 0;

  /** What a store answers that could not have the row: somebody is writing it at this very moment. */
  function whileLocked(verb: string): unknown {
    if (verb === "claim") return { outcome: "processing", leaseLeftMs: 1_000, attempts: 1 };
    if (verb === "landed") return "busy";
    throw new Error("the row is locked");
  }

  function end(transaction: OpenTransaction, state: "committed" | "rolled-back"): void {
    transaction.state = state;
    locks.free(transaction);
  }

  async function commit(transaction: OpenTransaction): Promise<void> {
    const { completion, writes, from } = transaction;
    if (transaction.state !== "open") throw new Error("there is no transaction");
    if (completion === undefined && writes.length > 0) {
      world.violate("row-without-answer", `${from.name} commits ${writes[0]?.intent ?? ""} without its answer`);
    }
    if (completion !== undefined && (await one(from, "complete", completion, [completion])) !== "ok") {
      world.violate("row-without-answer", `${idOf(completion.identity)}: the locked record was taken`);
    }
    for (const row of writes) world.wroteRow(row);
    end(transaction, "committed");
  }

  return {
    store,
    begin(from) {
      transactions += 1;
      return { number: transactions, from, writes: [], completion: undefined, state: "open" };
    },
    async on(transaction, statement) {
      world.counts.storeCalls += 1;
      if (transaction.state !== "open") throw new Error("there is no transaction");
      switch (statement.verb) {
        case "write":
          transaction.writes.push(statement.row);
          return undefined;
        case "complete": {
          const { identity, owner, fence } = statement.request;
          if (!(await locks.wait(identity, lockMs))) throw new Error("the row is locked");
          const record = await store.find(identity);
          const holds = record?.state === "processing" && record.owner === owner && record.fence === fence;
          world.note(
            `transaction ${transaction.number} of ${transaction.from.name} completes ${idOf(identity)}: ${holds ? "ok" : "stale"}`,
          );
          if (!holds) return "stale";
          locks.take(identity, transaction);
          transaction.completion = statement.request;
          return "ok";
        }
        case "commit":
          world.note(`transaction ${transaction.number} commits`);
          return commit(transaction);
        case "rollback":
          return end(transaction, "rolled-back");
      }
    },
    broken(transaction) {
      if (transaction.state !== "open") return;
      world.note(`transaction ${transaction.number} ends with its connection`);
      end(transaction, "rolled-back");
    },
    async handle(from, verb, args) {
      world.counts.storeCalls += 1;
      if (silent.has(verb)) return call(verb, args);
      const [locked] = args as [{ readonly identity?: Identity } | undefined];
      const isFree = locked?.identity === undefined || (await locks.wait(locked.identity, lockMs));
      if (!isFree) return whileLocked(verb);
      if (verb === "landed") return call(verb, args);
      if (verb === "sweep") return swept(args);
      if (verb !== "renew") return one(from, verb, args[0] as { readonly identity: Identity }, args);
      const answers: unknown[] = [];
      for (const request of args[0] as readonly { readonly identity: Identity }[]) {
        answers.push(...((await one(from, verb, request, [[request]])) as readonly unknown[]));
      }
      return answers;
    },
  };
}

interface Change {
  readonly seen: Seen;
  readonly from: Machine;
  readonly verb: string;
  readonly request: unknown;
  readonly before: StoredRecord | undefined;
  readonly after: StoredRecord | undefined;
  readonly result: unknown;
  readonly unfinished: boolean;
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

function isLive({ state, leaseLeftMs = 0 }: StoredRecord): boolean {
  return state === "processing" && leaseLeftMs > 0 && leaseLeftMs <= leaseMsAbsurd;
}

function judgeExpiry(world: World, record: StoredRecord, unfinished: boolean): void {
  const route = world.route(record.identity.operation);
  const id = idOf(record.identity);
  if (record.expiresAtMs > world.storeNowMs()) world.violate("expired-early", `${id}: ${shown(record)}`);
  else if (record.state === "completed") return;
  else if (isLive(record)) {
    world.violate("expired-under-owner", `${id}: ${shown(record)}`);
  } else if (unfinished || (record.state === "processing" && (isSealed(record) || route.onUnknown !== "rerun"))) {
    world.violate("doubt-expired", `${id}: ${shown(record)} under ${route.onUnknown} ended by retention`);
  }
}

function judge(world: World, change: Change): void {
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
  if (before !== undefined && after !== undefined && after.fence < before.fence) {
    world.violate("fence-not-growing", `${seen.id}: ${before.fence} then ${after.fence}`);
  }
  if (after !== undefined) seen.fenceMax = Math.max(seen.fenceMax, after.fence);
}

function judgeClaim(world: World, change: Change, request: ClaimRequest, result: ClaimResult): void {
  const { seen, before, after, unfinished } = change;
  seen.owners.set(request.owner, change.from);
  if (change.from.hasExited && change.from.isUntroubled && result.outcome === "granted") {
    world.violate("shutdown-left", `${seen.id}: ${change.from.name} had closed while its claim was under way`);
  }
  if (after === undefined) {
    if (result.outcome !== "full") world.violate("claim-without-record", seen.id);
    return;
  }
  const isTaken = before === undefined || before.fence !== after.fence;
  const isNew = before === undefined || after.createdAtMs !== before.createdAtMs || after.attempts < before.attempts;
  if (isTaken && after.fence <= seen.fenceMax) {
    world.violate("fence-not-growing", `${seen.id}: granted ${after.fence} after ${seen.fenceMax}`);
  }
  if (result.outcome === "granted" && after.owner !== request.owner) world.violate("two-winners", seen.id);
  if (isTaken && result.outcome !== "granted") world.violate("claim-moved-fence", `${seen.id}: ${result.outcome}`);
  if (isTaken && isNew) {
    if (before !== undefined) judgeExpiry(world, before, unfinished);
    seen.life += 1;
    seen.origin = "new";
    seen.heldByPerson = false;
    seen.releasedByPerson = false;
    return;
  }
  if (!isTaken || before === undefined) return;
  world.counts.takeovers += 1;
  if (!sameContent(before, request)) world.violate("mismatch-granted", seen.id);
  if (isLive(before) && before.owner !== request.owner) {
    world.violate("taken-under-owner", `${seen.id}: ${shown(before)}`);
  }
  if (before.state === "completed") world.violate("completed-taken", seen.id);
  if (before.holdReason !== undefined) {
    world.violate("hold-overridden", `${seen.id}: taken from ${shown(before)} by ${change.from.name}`);
  }
  if (before.interim !== undefined && before.state === "processing" && request.takeover === "lapsed") {
    world.violate("interim-overridden", `${seen.id}: taken from ${shown(before)} by ${change.from.name}`);
  }
  seen.origin = before.state === "failed" ? "failed" : isSealed(before) ? "suspended" : "lapsed";
}

function sameContent(record: StoredRecord, { fingerprint }: ClaimRequest): boolean {
  return Buffer.compare(record.fingerprint.canonical, fingerprint.canonical) === 0;
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
  if (isLive(before)) world.violate("settled-under-owner", `${seen.id}: ${shown(before)}`);
  if (!isPerson && before.holdReason !== undefined && request.decision.kind !== "hold") {
    world.violate("hold-overridden", `${seen.id}: ${request.decision.kind} by ${request.actor} (${from.name})`);
  }
  if (!isPerson && request.decision.kind === "hold" && before.state === "failed") {
    world.violate("hold-over-released", `${seen.id}: ${request.actor} holds what its owner released`);
  }
  seen.heldByPerson = request.decision.kind === "hold" && (isPerson || seen.heldByPerson);
  seen.releasedByPerson = isPerson && request.decision.kind === "release";
  if (request.decision.kind === "release") seen.origin = "person";
  const wanted = { adopt: "completed", release: "failed", hold: "processing" }[request.decision.kind];
  if (after.state !== wanted || (wanted === "processing" && after.holdReason === undefined)) {
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
  const { onUnknown } = world.route(proof.identity.operation);
  if (verb === "release") {
    const isRunning = world.runs.some(
      (run) => run.id === seen.id && run.fence === proof.fence && run.machine.isAlive && run.endedMs === undefined,
    );
    if (isRunning) world.violate("released-while-running", `${seen.id}: ${shown(before)}`);
    if (before.state === "completed") world.violate("completed-changed", `${seen.id} by release`);
    if (seen.heldByPerson && after?.holdReason === undefined) {
      world.violate("hold-overridden", `${seen.id}: released by ${change.from.name}`);
    }
    const inDoubt = seen.origin === "lapsed" || seen.origin === "suspended";
    const isUntouched = !seen.begun.has(proof.fence) && !seen.cleared.has(proof.fence);
    if (inDoubt && isUntouched && onUnknown !== "rerun") {
      world.violate("doubt-released", `${seen.id}: ${shown(before)} was never asked about`);
    }
  }
  if (verb === "startStep") seen.releasedByPerson = false;
  if (verb === "suspend" && isSealed(before) && !isSealed(after)) {
    world.violate("hold-overridden", `${seen.id}: ${shown(before)} forgotten by suspending`);
  }
  if (verb === "suspend" && before.interim !== undefined && after?.interim === undefined) {
    world.violate("interim-overridden", `${seen.id}: ${shown(before)} forgotten by suspending`);
  }
}

function judgeAnswer(world: World, { seen, verb, before, after, request }: Change): void {
  if (before?.state === "completed") {
    const same =
      after?.state === "completed" &&
      after.fence === before.fence &&
      before.response !== undefined &&
      after.response !== undefined &&
      bodyText(after.response.body) === bodyText(before.response.body);
    const isNewLife = verb === "claim" && after?.state === "processing" && after.createdAtMs !== before.createdAtMs;
    if (!same && !isNewLife) world.violate("completed-changed", `${seen.id} by ${verb}`);
    return;
  }
  if (after?.state !== "completed" || after.response === undefined) return;
  const text = bodyText(after.response.body);
  seen.answers.set(seen.life, text);
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
  if (!text.includes(JSON.stringify(seen.id))) world.violate("answer-foreign", `${seen.id} stored ${text}`);
}
