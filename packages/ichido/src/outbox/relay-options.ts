/** The relay's options, checked once. */
import { tell } from "../core/contract/listener.ts";
import { integerOption, knownOptions, optionInvalid, type OptionNames } from "../core/contract/option-checks.ts";
import type { Publisher } from "../brokers/broker.ts";
import type { Environment } from "../core/contract/environment.ts";

export type RelayEvent =
  | { readonly type: "sent"; readonly id: string; readonly topic: string; readonly tookMs: number }
  | {
      readonly type: "rejected";
      readonly id: string;
      readonly topic: string;
      readonly attempt: number;
      readonly error: Error;
    }
  | {
      readonly type: "dead";
      readonly id: string;
      readonly topic: string;
      readonly reason: "rejected" | "crashed" | "unreadable";
      readonly error: string;
    }
  | { readonly type: "paused"; readonly route: string; readonly topic: string; readonly error: Error }
  /** It finds no way although others pass, and waits by itself: somebody should look. It costs no attempt. */
  | {
      readonly type: "set-aside";
      readonly id: string;
      readonly topic: string;
      readonly error: Error;
      readonly delayMs: number;
    }
  | { readonly type: "resumed"; readonly route: string; readonly topic: string }
  /** No rule, or no route: the event stays, and somebody should look. */
  | { readonly type: "unrouted"; readonly id: string; readonly topic: string }
  /** Another relay took this one's lanes: the process was paused for longer than the lease, or cut off. */
  | { readonly type: "session-lost" }
  | { readonly type: "session-ended"; readonly session: string }
  /** The database did not answer; tried again. */
  | { readonly type: "failed"; readonly error: unknown };

export interface RelayOptions {
  /** By the names that the outbox's topics send to. */
  readonly routes: Readonly<Record<string, Publisher>>;
  /** For people who look at the table of relays. Default: the process id. */
  readonly name?: string;
  /** How many events are read at once. Default 250. */
  readonly batch?: number;
  /** How many are on their way at once. Default 256. */
  readonly concurrency?: number;
  /** How long a silent relay keeps its lanes. Default 10000. */
  readonly leaseMs?: number;
  /** How soon it looks again when there was nothing; half as long again each time. Default 20. */
  readonly idleMs?: number;
  /** Default 1000. */
  readonly idleMsMax?: number;
  /** The wait after a refused event, before jitter; doubles. Default 500. */
  readonly backoffMs?: number;
  /** Default 300000. */
  readonly backoffMsMax?: number;
  /** The pause of a route after a transport fault, before jitter; doubles. Default 100. */
  readonly pauseMs?: number;
  /** Default 5000. */
  readonly pauseMsMax?: number;
  /** How often a process may end while it sends an event before the event is quarantined. Default 8. */
  readonly crashesMax?: number;
  readonly onEvent?: (event: RelayEvent) => void;
  /** Default: the outbox's. */
  readonly environment?: Environment;
}

export type ResolvedRelayOptions = Required<RelayOptions>;

/** A day in milliseconds; far below where timers overflow. */
const most = 86_400_000;

function whole(name: string, value: unknown, least: number): number {
  return integerOption(name, value, least, most);
}

const optionNames: OptionNames<RelayOptions> = {
  routes: true,
  name: true,
  batch: true,
  concurrency: true,
  leaseMs: true,
  idleMs: true,
  idleMsMax: true,
  backoffMs: true,
  backoffMsMax: true,
  pauseMs: true,
  pauseMsMax: true,
  crashesMax: true,
  onEvent: true,
  environment: true,
};

export function resolveRelayOptions(options: RelayOptions, environment: Environment): ResolvedRelayOptions {
  knownOptions("createRelay", options, optionNames);
  const { routes } = options;
  for (const [name, publisher] of Object.entries(routes ?? {})) {
    if (typeof publisher?.publish !== "function")
      throw optionInvalid(`routes.${name}`, "a publisher, such as natsPublisher({ … })", publisher);
  }
  if (routes === undefined) throw optionInvalid("routes", "an object of publishers by name", routes);
  const idleMs = whole("idleMs", options.idleMs ?? 20, 1);
  const backoffMs = whole("backoffMs", options.backoffMs ?? 500, 1);
  const pauseMs = whole("pauseMs", options.pauseMs ?? 100, 1);
  return {
    routes,
    name: options.name ?? `pid ${process.pid}`,
    batch: whole("batch", options.batch ?? 250, 1),
    concurrency: whole("concurrency", options.concurrency ?? 256, 1),
    leaseMs: whole("leaseMs", options.leaseMs ?? 10_000, 100),
    idleMs,
    idleMsMax: whole("idleMsMax", options.idleMsMax ?? 1_000, idleMs),
    backoffMs,
    backoffMsMax: whole("backoffMsMax", options.backoffMsMax ?? 300_000, backoffMs),
    pauseMs,
    pauseMsMax: whole("pauseMsMax", options.pauseMsMax ?? 5_000, pauseMs),
    crashesMax: whole("crashesMax", options.crashesMax ?? 8, 2),
    onEvent: (event) => tell(options.onEvent, event),
    environment: options.environment ?? environment,
  };
}
