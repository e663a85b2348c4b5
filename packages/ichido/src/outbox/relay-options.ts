/** The relay's options, checked once. */
import { createListeners, type Listeners } from "../core/contract/listeners.ts";
import { loggerOption, logsTo, type Logger, type LogLevel } from "../core/contract/logger.ts";
import type { Tracing } from "../core/contract/tracing.ts";
import { optionInvalid } from "../core/contract/option-checks.ts";
import { given, integer, optional, readOptions, type ReadBy } from "../core/contract/read-options.ts";
import type { Publisher } from "../brokers/broker.ts";
import type { Environment } from "../core/contract/environment.ts";
import type { OutboxDeadLetter } from "./database.ts";

interface About {
  readonly id: string;
  readonly topic: string;
}

export type RelayEvent =
  | (About & { readonly type: "sent"; readonly tookMs: number })
  | (About & { readonly type: "rejected"; readonly attempt: number; readonly error: Error })
  | (About & { readonly type: "dead"; readonly reason: OutboxDeadLetter["reason"]; readonly error: string })
  | { readonly type: "paused"; readonly route: string; readonly topic: string; readonly error: Error }
  /** The event finds no way although others pass, and waits by itself: a person should look. It costs no attempt. */
  | (About & { readonly type: "set-aside"; readonly error: Error; readonly delayMs: number })
  | { readonly type: "resumed"; readonly route: string; readonly topic: string }
  /** No rule, or no route: the event stays, and a person should look. */
  | (About & { readonly type: "unrouted" })
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
  /** One line for every event that is sent or not: a pino logger, or whatever has its four methods. */
  readonly logger?: Logger;
  /** A span for every event that is sent: `fromOpenTelemetry(api)` in `ichido/traces`. */
  readonly tracing?: Tracing;
  /** Default: the outbox's. */
  readonly environment?: Environment;
}

/** A day in milliseconds; far below where timers overflow. */
const most = 86_400_000;

const optionTable = {
  routes: routesOf,
  name: given(`pid ${process.pid}`),
  batch: integer(1, most, 250),
  concurrency: integer(1, most, 256),
  leaseMs: integer(100, most, 10_000),
  idleMs: integer(1, most, 20),
  idleMsMax: integer("idleMs", most, 1_000),
  backoffMs: integer(1, most, 500),
  backoffMsMax: integer("backoffMs", most, 300_000),
  pauseMs: integer(1, most, 100),
  pauseMsMax: integer("pauseMs", most, 5_000),
  crashesMax: integer(2, most, 8),
  onEvent: given<RelayOptions["onEvent"]>(),
  logger: optional(loggerOption),
  tracing: given<Tracing | undefined>(),
  environment: given<Environment | undefined>(),
};

const levels: Readonly<Record<RelayEvent["type"], LogLevel>> = {
  sent: "info",
  rejected: "warn",
  dead: "error",
  paused: "warn",
  "set-aside": "warn",
  resumed: "info",
  unrouted: "error",
  "session-lost": "warn",
  "session-ended": "debug",
  failed: "error",
};
const levelOf = ({ type }: RelayEvent): LogLevel => levels[type];

export interface ResolvedRelayOptions extends Omit<ReadBy<typeof optionTable>, "onEvent" | "environment"> {
  readonly onEvent: (event: RelayEvent) => void;
  readonly on: Listeners<RelayEvent>["on"];
  readonly environment: Environment;
}

export function resolveRelayOptions(options: RelayOptions, environment: Environment): ResolvedRelayOptions {
  const settings = readOptions("createRelay", options, optionTable);
  const { logger } = settings;
  const logs = logger === undefined ? undefined : logsTo(logger, "relay", levelOf);
  const listeners = createListeners<RelayEvent>("relay", [settings.onEvent, logs]);
  return {
    ...settings,
    onEvent: (event) => listeners.emit(event),
    on: (listener) => listeners.on(listener),
    environment: settings.environment ?? environment,
  };
}

function routesOf(option: string, value: unknown): RelayOptions["routes"] {
  const routes = value as RelayOptions["routes"] | undefined;
  if (routes === undefined) throw optionInvalid(option, "an object of publishers by name", routes);
  for (const [name, publisher] of Object.entries(routes)) {
    if (typeof publisher?.publish !== "function")
      throw optionInvalid(`${option}.${name}`, "a publisher, such as natsPublisher({ … })", publisher);
  }
  return routes;
}
