/**
 * Records in the memory of this process: for tests, development and single-process services that may forget on restart.
 * It is also the reference model of the protocol: nothing but a shell around `core/record-machine`, which says what every
 * other store must do.
 *
 * Each verb runs from its first to its last statement without giving way, so a verb is atomic by itself.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import type { ForgetRequest, ForgetResult, Resource } from "../../core/contract/history.ts";
import type { Identity } from "../../core/contract/record.ts";
import type {
  Fenced,
  SettleRequest,
  Step,
  Store,
  StoreCapabilities,
  StoredRecord,
  SuspendRequest,
  SweepRequest,
  SweepResult,
} from "../../core/contract/store.ts";
import { forgetRefusal, forgotten } from "../../core/record-machine/forget.ts";
import { withTold } from "../../core/record-machine/resources.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import * as machine from "../../core/record-machine/owned.ts";
import type { Answered } from "../../core/record-machine/owned.ts";
import { usOf, type Moment } from "../../core/record-machine/record.ts";
import { settle } from "../../core/record-machine/settle.ts";
import { isTrusted, nextTick, type TickRow } from "../../core/record-machine/ticks.ts";
import { isNews, stepView } from "../../core/record-machine/view.ts";
import { warnUnlessAlone } from "./alone.ts";
import { claim } from "./claim.ts";
import { createHistory, createHistoryVerbs } from "./history.ts";
import { createInspection } from "./inspection.ts";
import { list, stats } from "./listing.ts";
import { resolveOptions, type MemoryStoreOptions } from "./options.ts";
import { copyBytes, KeptResponse, noLabels, toRecord, type Row } from "./row.ts";
import { createShelf, type Shelf } from "./shelf.ts";
import { localIdOf } from "../../core/request/scope.ts";
import { Waiters } from "../waiters.ts";

/** Records that a sweep removes between two looks at its time budget. */
const sweepStride = 64;

const capabilities: StoreCapabilities = {
  durable: false,
  shared: false,
  transactions: false,
  promise: "an acknowledged write lives as long as this process and is seen by this process alone",
};

export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const { nowMs, environment, ...bounds } = resolveOptions(options);
  const nowUs = (): number => Math.floor(nowMs() * 1_000);
  const history = createHistory((id) => find(id));
  const shelf = createShelf(bounds, (id) => history.gone(id));
  const waiters = new Waiters<undefined>(environment);
  let tick: TickRow | undefined;

  function find(id: string): StoredRecord | undefined {
    const row = shelf.get(id);
    return row === undefined ? undefined : toRecord(row, nowUs(), "with bodies");
  }

  function moment(): Moment {
    const now = nowUs();
    return { nowUs: now, trusted: isTrusted(tick, now), fenceFloor: shelf.fenceFloor };
  }

  /** Keeps what a transition made; the same row back means that there is nothing to keep. */
  function keep(id: string, before: Row | undefined, after: Row | undefined): void {
    if (after === undefined || after === before) return;
    shelf.put(id, after);
    if (isNews(after)) waiters.wake(id);
  }

  function apply<Request extends { readonly identity: Identity; readonly resources?: readonly Resource[] }>(
    verb: (row: Row | undefined, request: Request, now: number) => Answered<Row>,
    request: Request,
  ): Fenced {
    const id = localIdOf(request.identity);
    const before = shelf.get(id);
    const { record, result } = verb(before, request, nowUs());
    keep(id, before, result === "ok" ? telling(record, request.resources) : record);
    return result;
  }

  function noteLast({ audit }: Row, identity: Identity): void {
    const entry = audit.at(-1);
    if (entry === undefined) return;
    const { key, scopeHash } = identity;
    history.audit.add({ ...entry, record: { key, scopeHash } }, nowUs(), [localIdOf(identity)]);
  }

  function forget(request: ForgetRequest): ForgetResult {
    const id = localIdOf(request.identity);
    const before = shelf.get(id);
    const at = moment();
    const refusal = forgetRefusal(before, request, at.nowUs);
    if (before === undefined || refusal !== undefined) return refusal ?? "absent";
    const row = forgottenRow(before, request, at);
    keep(id, before, row);
    history.forget(id);
    noteLast(row, request.identity);
    return "ok";
  }

  return {
    name: "memory",
    capabilities,
    callTimeoutMs: 0,

    async claim(request, transaction) {
      if (transaction !== undefined) throw cannotJoin(transaction);
      const id = localIdOf(request.identity);
      const before = shelf.get(id);
      const room = before === undefined ? shelf.roomFor(request.identity, moment()) : "free";
      if (room !== "free") return { outcome: room };
      const { row, result } = claim(before, request, moment());
      keep(id, before, row);
      return result;
    },
    renew: async (requests) => requests.map((request) => apply(machine.renew<Row>, request)),
    async complete(request, transaction) {
      if (transaction !== undefined) throw cannotJoin(transaction);
      return apply(machine.complete<Row>, { ...request, response: KeptResponse.of(request.response) });
    },
    landed: async (request) => machine.landedOf(shelf.get(localIdOf(request.identity)), request),
    release: async (claimed) => apply(machine.release<Row>, claimed),
    suspend: async (request) => apply(machine.suspend<Row>, keptInterim(request)),
    startStep: async (request) => apply(machine.startStep<Row>, request),
    finishStep: async (request) => apply(machine.finishStep<Row>, { ...request, result: copyBytes(request.result) }),

    steps: async (identity) => stepsOf(shelf.get(localIdOf(identity)), nowUs()),
    async settle(request) {
      const id = localIdOf(request.identity);
      const before = shelf.get(id);
      const { record, result } = settle(before, { ...request, decision: copyOf(request.decision) }, moment());
      keep(id, before, record);
      if (result === "ok" && record !== undefined) noteLast(record, request.identity);
      return result;
    },

    resources: async (identity) => shelf.get(localIdOf(identity))?.resources ?? [],
    ...createHistoryVerbs(history, find, nowUs),
    forget: async (request) => forget(request),

    find: async (identity) => find(localIdOf(identity)),
    list: async (query) => list(shelf.rows(query), query, nowUs()),
    stats: async () => stats(shelf.rows(), nowUs()),

    sweep: async (request) => sweep(shelf, moment(), request),
    async tick(request) {
      warnUnlessAlone();
      const now = nowUs();
      tick = nextTick(tick, now, usOf(request.intervalMs));
      return { trusted: isTrusted(tick, now) };
    },
    ping: async () => undefined,
    ...createInspection(nowMs),
    watch: (identity, timeoutMs) => waiters.wait(localIdOf(identity), timeoutMs, () => undefined),
    async close() {
      waiters.wakeAll();
    },
  };
}

function keptInterim(request: SuspendRequest): SuspendRequest {
  return request.interim === undefined ? request : { ...request, interim: KeptResponse.of(request.interim) };
}

function telling(row: Row | undefined, told: readonly Resource[] | undefined): Row | undefined {
  if (row === undefined || told === undefined) return row;
  const resources = withTold(row.resources, told);
  return resources === row.resources ? row : { ...row, resources };
}

function forgottenRow(before: Row, request: ForgetRequest, at: Moment): Row {
  const { response, ...left } = forgotten(before, request, at);
  return { ...left, response: response && KeptResponse.of(response), principal: undefined, labels: noLabels };
}

function stepsOf(row: Row | undefined, nowUs: number): readonly Step[] {
  return (row?.steps ?? []).map((step) =>
    stepView(step.result === undefined ? step : { ...step, result: copyBytes(step.result) }, nowUs),
  );
}

function copyOf(decision: SettleRequest["decision"]): SettleRequest["decision"] {
  return decision.kind === "adopt" ? { ...decision, response: KeptResponse.of(decision.response) } : decision;
}

function sweep(shelf: Shelf, { nowUs, trusted }: Moment, { limit, budgetMs }: SweepRequest): SweepResult {
  if (!trusted) return { deleted: 0, more: false, guarded: true };
  const untilMs = performance.now() + budgetMs;
  let deleted = 0;
  while (deleted < limit && shelf.removeExpired(nowUs)) {
    deleted += 1;
    if (deleted % sweepStride === 0 && performance.now() >= untilMs) break;
  }
  return { deleted, more: shelf.hasExpired(nowUs), guarded: false };
}

function cannotJoin({ dialect }: TransactionHandle): IchidoError {
  const advice = "leave the handle out, or use a store in the database of the transaction";
  return new IchidoError("usage-invalid", `memoryStore cannot join a ${dialect} transaction: ${advice}`);
}
