/**
 * The application that every framework builds around its adapter, in a form that knows no framework. In order:
 *
 *  1. `Access-Control-*` by the framework's own CORS layer, with the settings of `cors`
 *  2. `X-Request-Serial: <serial()>` on every answer, as an outer layer that computes anew
 *  3. `admit(authorization)`: answer its status when it is not 200
 *  4. the body: capture where the framework needs it, then its JSON parser with `jsonBytesMax`; other types unparsed
 *  5. where `layer` says so, in front of all these: a layer that changes every answer as the framework's own layers do
 *  6. for every route: the adapter with `route.options`, then `handle(call)` and its answer in the way it says
 */
import { createHash, randomUUID } from "node:crypto";
import { createIchido, type Ichido } from "../../core/engine/create-ichido.ts";
import type { IchidoEvent } from "../../core/contract/events.ts";
import type { IchidoOptions } from "../../core/contract/options.ts";
import type { Scope } from "../../core/contract/record.ts";
import type { Store } from "../../core/contract/store.ts";
import type { TransactionHandle, TransactionRunner } from "../../core/contract/transaction.ts";
import { countedEffects, type Effects } from "./effects.ts";
import { createGates, type Gates } from "./gates.ts";
import { contentBytes, planHeader, readPlan, type HarnessAnswer, type HarnessCall, type Plan } from "./plan.ts";
import { harnessRoutes, type HarnessRoute } from "./routes.ts";
import { createTokens, type Tokens } from "./tokens.ts";

/** Writes an effect on the handler's own transaction, and counts what was committed. */
export interface TransactionalEffects {
  readonly runner: TransactionRunner<unknown>;
  note(handle: TransactionHandle, tally?: string): Promise<void>;
  count(tally?: string): Promise<number>;
}

/**
 * `signature`: `X-Signature` has `signatureOf` the bytes that leave, and `X-Served` a `serial()` drawn when they leave.
 * `envelope`: JSON content `x` leaves as `{"data":x}`. `compression`: what the framework's users compress answers with.
 */
export type Layer = "signature" | "envelope" | "compression";

export function signatureOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export interface HarnessOptions {
  readonly store: Store;
  /** Over the harness's own: `onUnknown: "rerun"`, and the engine's defaults. */
  readonly engine?: Partial<Omit<IchidoOptions<never>, "store" | "scope" | "dangerouslyShareKeys">>;
  readonly routes?: Parameters<typeof harnessRoutes>[0];
  readonly effects?: Effects;
  /** Counts handlers at their start, before any effect. */
  readonly arrivals?: Effects;
  readonly transactional?: TransactionalEffects | undefined;
  /** `parsed`: the adapter gets what the framework's parser made, not the bytes. Where a framework has the choice. */
  readonly bodies?: "captured" | "parsed";
  readonly layer?: Layer;
}

export interface Harness<Native> {
  readonly ichido: Ichido<Native>;
  readonly routes: readonly HarnessRoute[];
  readonly cors: { readonly origins: readonly string[]; readonly allow: string; readonly expose: string };
  readonly jsonBytesMax: number;
  readonly bodies: "captured" | "parsed";
  readonly layer: Layer | undefined;
  readonly tokens: Tokens;
  readonly gates: Gates;
  readonly effects: Effects;
  readonly events: readonly IchidoEvent[];
  serial(): string;
  handle(call: HarnessCall): Promise<HarnessAnswer>;
}

const cors = {
  origins: ["https://one.example", "https://two.example"],
  allow: "Idempotency-Key, Content-Type, Authorization",
  expose: "Idempotency-Replayed, Retry-After, Location",
};
const eventsMax = 10_000;

async function* eventsOf(plan: Plan, gates: Gates): AsyncGenerator<string> {
  yield "data: 1\n\n";
  if (plan.eventsGate !== undefined) await gates.pass(plan.eventsGate);
  yield "data: 2\n\n";
  yield "data: 3\n\n";
}

function answerTo(plan: Plan, id: string, gates: Gates): HarnessAnswer {
  const content = plan.content ?? { json: { id } };
  const isJson = "json" in content || "text" in content;
  const body = contentBytes(content);
  const headers = plan.headers ?? [
    ["Location", `/things/${id}`],
    ["ETag", `"${id}"`],
  ];
  const hasType = headers.some(([name]) => name.toLowerCase() === "content-type");
  const type = isJson ? "application/json; charset=utf-8" : "application/octet-stream";
  return {
    status: plan.status ?? 201,
    headers: hasType || "none" in content ? headers : [...headers, ["Content-Type", type]],
    body,
    json: isJson ? JSON.parse(Buffer.from(body).toString()) : undefined,
    events: eventsOf(plan, gates),
    way: plan.way ?? "send",
    hints: plan.hints ?? false,
  };
}

function failure(plan: Plan): Error {
  return Object.assign(
    new Error("planned failure"),
    plan.throwsStatus === undefined ? {} : { status: plan.throwsStatus },
  );
}

export function createHarness<Native>(
  options: HarnessOptions,
  authorizationOf: (native: Native) => string | undefined,
): Harness<Native> {
  const { effects = countedEffects(), transactional } = options;
  const tokens = createTokens();
  const gates = createGates();
  const events: IchidoEvent[] = [];
  const versions = new Map<string, number>();
  let serial = 0;
  let greatestFence = 0;

  const ichido = createIchido<Native>({
    onUnknown: "rerun",
    ...(transactional === undefined ? {} : { transactions: transactional.runner }),
    ...options.engine,
    store: options.store,
    scope: (native: Native): Scope => tokens.scopeOf(authorizationOf(native)),
    onEvent: (event: IchidoEvent) => {
      if (events.length < eventsMax) events.push(event);
    },
  } as unknown as IchidoOptions<Native>);

  /** The check and the change of a version happen together, as they would in one statement of a database. */
  function changeVersion(call: HarnessCall): HarnessAnswer | undefined {
    const version = versions.get(call.target) ?? 1;
    const given = call.header("if-match");
    if (given !== `"v${version}"`) {
      return answerTo({ status: given === undefined ? 428 : 412, content: { none: true }, headers: [] }, "", gates);
    }
    versions.set(call.target, version + 1);
    return undefined;
  }

  function note(plan: Plan, fence: number): void {
    if (plan.fenced === true) {
      if (fence < greatestFence) return;
      greatestFence = fence;
    }
    for (let effect = 0; effect < (plan.effects ?? 1); effect += 1) effects.note(fence, plan.tally);
  }

  async function handle(call: HarnessCall): Promise<HarnessAnswer> {
    const plan = readPlan(call.header(planHeader));
    const context = call.idempotency;
    const fence = context?.fence ?? 0;
    options.arrivals?.note(fence, plan.tally);
    if (plan.fenced === true) greatestFence = Math.max(greatestFence, fence);
    if (plan.throws === "before") throw failure(plan);
    if (plan.gate !== undefined) await gates.pass(plan.gate);
    if (plan.sleepMs !== undefined) await new Promise((resolve) => setTimeout(resolve, plan.sleepMs));
    const answer = answerTo(plan, randomUUID(), gates);
    if (plan.conditional === true) {
      const refusal = changeVersion(call);
      if (refusal !== undefined) return refusal;
    }
    if (plan.transaction === true && context !== undefined && transactional !== undefined) {
      await context.transaction(async (_tx, handleOnIt) => {
        await transactional.note(handleOnIt, plan.tally);
        if (plan.throws === "after") throw failure(plan);
        return { status: answer.status, headers: Object.fromEntries(answer.headers), body: answer.json };
      });
      return { ...answer, way: "provided" };
    }
    if (plan.step === undefined) note(plan, fence);
    else {
      await context?.step(plan.step, () => {
        note(plan, fence);
        return null;
      });
    }
    if (plan.unknown === true) {
      await context?.unknown({ status: 202, body: { state: "open" } });
      return { ...answer, way: "provided" };
    }
    if (plan.throws === "after") throw failure(plan);
    if (plan.release === true) context?.release();
    return answer;
  }

  return {
    ichido,
    routes: harnessRoutes(options.routes),
    cors,
    jsonBytesMax: 2 * 1_048_576,
    bodies: options.bodies ?? "captured",
    layer: options.layer,
    tokens,
    gates,
    effects,
    events,
    serial: () => {
      serial += 1;
      return String(serial);
    },
    handle,
  };
}
