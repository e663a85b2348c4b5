/** An engine on a memory store and a fake clock, with a store whose verbs can be made to fail, hang or lose replies. */
import { createIchido, type Ichido } from "../../packages/ichido/src/core/engine/create-ichido.ts";
import type { Decision, Execution } from "../../packages/ichido/src/core/contract/decision.ts";
import type { IchidoEvent } from "../../packages/ichido/src/core/contract/events.ts";
import type { NeutralRequest, NeutralResponse, RequestBody } from "../../packages/ichido/src/core/contract/message.ts";
import type { IchidoOptions, RouteOptions } from "../../packages/ichido/src/core/contract/options.ts";
import type { Store } from "../../packages/ichido/src/core/contract/store.ts";
import { sentAgain } from "../../packages/ichido/src/core/record-machine/claim.ts";
import { memoryStore } from "../../packages/ichido/src/stores/memory/index.ts";
import { fakeClock, type FakeClock } from "../../packages/ichido/src/testing/clock.ts";
import { faultyStore, type FaultyStore } from "../../packages/ichido/src/testing/faulty-store.ts";

export interface Caller {
  readonly tenant: string;
  readonly user: string;
}

export interface Bed {
  readonly clock: FakeClock;
  readonly store: FaultyStore;
  readonly ichido: Ichido<Caller>;
  readonly events: IchidoEvent[];
  /** How requests were answered, in order. */
  readonly outcomes: () => string[];
  readonly ask: (request?: AskRequest) => Promise<Decision>;
  /** Asks, expects a grant and answers it. */
  readonly serve: (request?: AskRequest, response?: Partial<NeutralResponse>) => Promise<void>;
}

export interface AskRequest {
  readonly key?: string | readonly string[] | undefined;
  readonly body?: unknown;
  readonly method?: string;
  readonly target?: string;
  readonly caller?: Caller;
  readonly route?: Partial<RouteOptions<Caller>>;
  readonly readBody?: () => Promise<RequestBody>;
}

export const alice: Caller = { tenant: "acme", user: "alice" };

/** A memory store that takes every claim as sent twice; the copies arrive when they are called. */
export function copying() {
  const copies: (() => Promise<unknown>)[] = [];
  const make = ({ nowMs, environment }: Pick<FakeClock, "nowMs" | "environment">): Store => {
    const store = memoryStore({ nowMs, environment });
    const claim: Store["claim"] = async (request) => {
      copies.push(() => store.claim(request));
      return sentAgain(await store.claim(request));
    };
    return { ...store, claim };
  };
  return { make, copies };
}

export function bed(options: Partial<IchidoOptions<Caller>> = {}, base?: (clock: FakeClock) => Store): Bed {
  const clock = fakeClock();
  const store = faultyStore(base?.(clock) ?? memoryStore({ nowMs: clock.nowMs, environment: clock.environment }));
  const events: IchidoEvent[] = [];
  const ichido = createIchido<Caller>({
    store,
    scope: ({ tenant, user }) => ({ tenant, principal: user }),
    onUnknown: "rerun",
    environment: clock.environment,
    onEvent: (event) => void events.push(event),
    ...options,
  } as IchidoOptions<Caller>);

  async function ask(request: AskRequest = {}): Promise<Decision> {
    const key = "key" in request ? request.key : "key-1";
    const lines = key === undefined ? [] : typeof key === "string" ? [key] : key;
    const bytes = new TextEncoder().encode(JSON.stringify(request.body ?? { amount: 100 }));
    const neutral: NeutralRequest<Caller> = {
      method: request.method ?? "POST",
      target: request.target ?? "/payments",
      headerLines: (name) => (name === "idempotency-key" ? lines : name === "content-type" ? ["application/json"] : []),
      body: request.readBody ?? (async () => ({ kind: "bytes", bytes })),
      native: request.caller ?? alice,
    };
    return ichido.decide(neutral, ichido.route({ operation: "payment.create", ...request.route }));
  }

  return {
    clock,
    store,
    ichido,
    events,
    outcomes: () => events.filter((event) => event.type === "request").map((event) => event.outcome),
    ask,
    async serve(request, response) {
      await answer(executionOf(await ask(request)), response);
    },
  };
}

export function executionOf(decision: Decision): Execution {
  if (decision.kind !== "execute") throw new Error(`expected execute, got ${decision.kind}: ${shown(decision)}`);
  return decision.execution;
}

export function responseOf(decision: Decision): NeutralResponse {
  if (decision.kind !== "replay" && decision.kind !== "reject")
    throw new Error(`expected an answer, got ${decision.kind}`);
  return decision.response;
}

export function answer(execution: Execution, response: Partial<NeutralResponse> = {}): ReturnType<Execution["settle"]> {
  const body = new TextEncoder().encode('{"id":1}');
  return execution.settle({
    kind: "answered",
    response: { status: 201, headers: [["content-type", "application/json"]], body, ...response },
  });
}

export function textOf(response: NeutralResponse): string {
  return new TextDecoder().decode(response.body);
}

export function problemIn(decision: Decision): Record<string, unknown> {
  return JSON.parse(textOf(responseOf(decision))) as Record<string, unknown>;
}

export function headerIn(response: NeutralResponse, name: string): string | undefined {
  return response.headers.find(([each]) => each === name)?.[1];
}

function shown(decision: Decision): string {
  return "response" in decision ? textOf(decision.response) : "";
}

/** A store whose completions arrive when they are let through, in an engine, and another engine on the same store. */
export async function slowBeds(
  options: Partial<IchidoOptions<Caller>>,
  more: (store: Store) => Partial<Store> = () => ({}),
) {
  const way = Promise.withResolvers<void>();
  let shared: Store | undefined;
  const make = ({ nowMs, environment }: FakeClock): Store => {
    const store = memoryStore({ nowMs, environment });
    shared = store;
    return { ...store, ...more(store), complete: async (...given) => way.promise.then(() => store.complete(...given)) };
  };
  const all = bed(options, make);
  const elsewhere = bed(options, () => {
    if (shared === undefined) throw new Error("the store is made with the first engine");
    return shared;
  });
  await elsewhere.clock.advance(50);
  return { all, elsewhere, arrive: way.resolve };
}

/** The store is away for longer than a lease; the handler goes on. */
export async function lapse(all: Bed, leaseMs: number): Promise<void> {
  all.store.break("renew", "fail");
  await all.clock.advance(leaseMs + 500);
  all.store.mend();
}
