/**
 * Where events go and whether the way is open. A transport fault pauses what goes by the same rule, or by the same route;
 * after the pause one event tries the way before the others follow, after further ones a few. It never costs an attempt.
 */
import { doubledMs, upperHalfOf } from "../core/contract/jitter.ts";
import type { Publisher } from "../brokers/broker.ts";
import { IchidoError } from "../core/contract/errors.ts";
import type { Environment } from "../core/contract/environment.ts";
import type { ResolvedRule, Topics } from "./topics.ts";

export interface RouteHealth {
  readonly pattern: string;
  readonly route: string;
  readonly state: "open" | "paused" | "probing";
  /** Transport faults in a row. */
  readonly failures: number;
  readonly pausedForMs: number;
  readonly lastError: string | undefined;
}

/** How many events the broker has answered for. */
export interface Passes {
  readonly byRule: number;
  readonly byRoute: number;
}

interface Way {
  readonly rule: ResolvedRule;
  passes: number;
  failures: number;
  pausedUntilMs: number;
  probing: boolean;
  inFlight: number;
  lastError: string | undefined;
}

export interface Routes {
  publisherOf(rule: ResolvedRule): Publisher | undefined;
  /** Whether an event of this rule may leave now. */
  mayLeave(rule: ResolvedRule): "yes" | "wait" | "paused";
  /** Whether nothing has passed since a transport fault. */
  isShut(rule: ResolvedRule): boolean;
  left(rule: ResolvedRule): void;
  /** A transport fault. True when this began a pause. */
  unavailable(
    rule: ResolvedRule,
    fault: { readonly error: Error; readonly scope?: string; readonly retryAfterMs?: number },
  ): boolean;
  /** The way is good, whatever the broker said about the event. True when it was not before. */
  passed(rule: ResolvedRule): boolean;
  passesOf(rule: ResolvedRule): Passes;
  arrived(rule: ResolvedRule): void;
  /** Notes a topic, so that it can be left out of the next claims while its rule pauses. */
  see(topic: string, rule: ResolvedRule): void;
  pausedTopics(): string[];
  /** The patterns of rules that pause. */
  pausedPatterns(): ReadonlySet<string>;
  /** Whether a topic goes by one of these rules. It is noted then: the next claim leaves it out. */
  goesBy(topic: string, patterns: ReadonlySet<string>): boolean;
  /** Milliseconds until the first pause ends; undefined when none. */
  nextOpenMs(): number | undefined;
  health(): RouteHealth[];
}

const topicsMax = 1_000;
/** More and more at once, since the one that tries may be the only one that cannot pass. */
const triesMax = 16;

export function createRoutes(
  topics: Topics,
  publishers: Readonly<Record<string, Publisher>>,
  pause: { readonly pauseMs: number; readonly pauseMsMax: number },
  environment: Environment,
): Routes {
  for (const route of topics.routes) {
    if (publishers[route] === undefined) {
      throw new IchidoError(
        "option-invalid",
        `routes: a rule of topics sends to ${JSON.stringify(route)}, which is not among ${JSON.stringify(Object.keys(publishers))}`,
      );
    }
  }
  const ways = new Map<string, Way>();
  const seen = new Map<string, string>();
  const passesByRoute = new Map<string, number>();

  function wayOf(rule: ResolvedRule): Way {
    // One for all that keep one order: while some of it waits, nothing of it may pass.
    let way = ways.get(rule.orderedWith);
    if (way === undefined) {
      way = { rule, passes: 0, failures: 0, pausedUntilMs: 0, probing: false, inFlight: 0, lastError: undefined };
      ways.set(rule.orderedWith, way);
    }
    return way;
  }

  function see(topic: string, rule: ResolvedRule): void {
    if (seen.size < topicsMax) seen.set(topic, rule.orderedWith);
  }

  const triesOf = ({ failures }: Way): number => Math.min(triesMax, 2 ** Math.max(0, failures - 1));
  const isPaused = (way: Way): boolean => way.pausedUntilMs > environment.monotonicMs();

  function close(way: Way, message: string, retryAfterMs: number | undefined): boolean {
    // Others that were under way when the first one failed say nothing new.
    if (isPaused(way)) return false;
    way.failures += 1;
    way.lastError = message;
    const longest = doubledMs(pause.pauseMs, way.failures, pause.pauseMsMax);
    const pausedMs = retryAfterMs ?? upperHalfOf(environment, longest);
    way.pausedUntilMs = environment.monotonicMs() + Math.min(pausedMs, pause.pauseMsMax);
    way.probing = true;
    return true;
  }

  return {
    publisherOf: (rule) => publishers[rule.to],
    mayLeave(rule) {
      const way = wayOf(rule);
      if (isPaused(way)) return "paused";
      return way.probing && way.inFlight >= triesOf(way) ? "wait" : "yes";
    },
    isShut: (rule) => wayOf(rule).probing,
    left(rule) {
      wayOf(rule).inFlight += 1;
    },
    arrived(rule) {
      wayOf(rule).inFlight -= 1;
    },
    unavailable(rule, { error, scope, retryAfterMs }) {
      if (scope !== undefined) return close(wayOf(rule), error.message, retryAfterMs);
      const own = wayOf(rule);
      const same = [own, ...[...ways.values()].filter((way) => way.rule.to === rule.to && way !== own)];
      return same.map((way) => close(way, error.message, retryAfterMs)).includes(true);
    },
    passed(rule) {
      const way = wayOf(rule);
      const wasShut = way.probing;
      way.failures = 0;
      way.probing = false;
      way.passes += 1;
      passesByRoute.set(rule.to, (passesByRoute.get(rule.to) ?? 0) + 1);
      return wasShut;
    },
    passesOf: (rule) => ({ byRule: wayOf(rule).passes, byRoute: passesByRoute.get(rule.to) ?? 0 }),
    see,
    pausedTopics() {
      if (![...ways.values()].some(isPaused)) return [];
      return [...seen].flatMap(([topic, pattern]) => {
        const way = ways.get(pattern);
        return way !== undefined && isPaused(way) ? [topic] : [];
      });
    },
    pausedPatterns: () => new Set([...ways.values()].filter(isPaused).map(({ rule }) => rule.orderedWith)),
    goesBy(topic, patterns) {
      const rule = patterns.size === 0 ? undefined : topics.find(topic);
      if (rule === undefined || !patterns.has(rule.orderedWith)) return false;
      see(topic, rule);
      return true;
    },
    nextOpenMs() {
      const nowMs = environment.monotonicMs();
      const left = [...ways.values()].map((way) => way.pausedUntilMs - nowMs).filter((ms) => ms > 0);
      return left.length === 0 ? undefined : Math.min(...left);
    },
    health: () =>
      [...ways.values()].map((way) => ({
        pattern: way.rule.orderedWith,
        route: way.rule.to,
        state: isPaused(way) ? "paused" : way.probing ? "probing" : "open",
        failures: way.failures,
        pausedForMs: Math.max(0, way.pausedUntilMs - environment.monotonicMs()),
        lastError: way.lastError,
      })),
  };
}
