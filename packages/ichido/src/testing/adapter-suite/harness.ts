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
import { createHash } from "node:crypto";
import { createIchido, type Ichido } from "../../core/engine/create-ichido.ts";
import type { IchidoEvent } from "../../core/contract/events.ts";
import type { IchidoOptions } from "../../core/contract/options.ts";
import type { Scope } from "../../core/contract/record.ts";
import type { Store } from "../../core/contract/store.ts";
import { countedEffects, type Effects, type TransactionalEffects } from "./effects.ts";
import { createGates, type Gates } from "./gates.ts";
import { createHandler } from "./handler.ts";
import type { HarnessAnswer, HarnessCall } from "./plan.ts";
import { harnessRoutes, type HarnessRoute } from "./routes.ts";
import { createTokens, type Tokens } from "./tokens.ts";

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
  /** Options that override the harness's own: `onUnknown: "rerun"`, and the engine's defaults. */
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

export function createHarness<Native>(
  options: HarnessOptions,
  authorizationOf: (native: Native) => string | undefined,
): Harness<Native> {
  const { effects = countedEffects(), transactional } = options;
  const tokens = createTokens();
  const gates = createGates();
  const events: IchidoEvent[] = [];
  let serial = 0;

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
    handle: createHandler({ ...options, effects, gates }),
  };
}
