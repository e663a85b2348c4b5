/** What an engine sees of its own routes and steps while it runs, for `doctor`: few figures, bounded, off no request's way. */
import type { NotedOperation, NotedStep } from "../contract/engine-note.ts";
import type { ResolvedRoute } from "../contract/options.ts";
import type { HeaderLine } from "../contract/record.ts";
import { Durations } from "./durations.ts";

/** Names of operations and of steps; a program that makes them up endlessly is not measured further. */
const namesMax = 100;

/** Each is a question of its own to the store. */
const searchedMax = 16;

type Route = ResolvedRoute<never>;

interface Operation {
  route: Route;
  readonly handled: Durations;
  setsCookies: boolean;
}

interface StepFigures {
  readonly answered: Durations;
  readonly unanswered: Durations;
}

export interface Measurements {
  /** A route is there, or is mounted anew with other options. */
  routed(route: Route): void;
  handled(route: Route, durationMs: number): void;
  answered(route: Route, headers: readonly HeaderLine[]): void;
  stepped(name: string, durationMs: number, isAnswered: boolean): void;
  /** A record has labels, or a resource. */
  named(what: "labels" | "resources", names: readonly string[]): void;
  names(what: "labels" | "resources"): readonly string[];
  operations(): Readonly<Record<string, NotedOperation>>;
  steps(): Readonly<Record<string, NotedStep>>;
}

function notedOf({ route, handled, setsCookies }: Operation): NotedOperation {
  const { leaseMs, retentionMs, bodyBytesMax, mode, enforce, onUnknown, profile, fingerprint, methods } = route;
  return {
    options: {
      leaseMs,
      retentionMs,
      bodyBytesMax,
      mode,
      enforce,
      onUnknown: typeof onUnknown === "string" ? onUnknown : "verify",
      profile: profile.name,
      fields: fingerprint.fields?.join(", ") ?? "",
      compare: fingerprint.compare,
      optionalFor: [...methods].filter((method) => !route.requiredFor.has(method)).join(", "),
    },
    handled: handled.figures(),
    setsCookies,
  };
}

export function createMeasurements(): Measurements {
  const operations = new Map<string, Operation>();
  const steps = new Map<string, StepFigures>();
  const names = { labels: new Set<string>(), resources: new Set<string>() };

  function operationOf(route: Route): Operation | undefined {
    const known = operations.get(route.operation);
    if (known !== undefined || operations.size >= namesMax) return known;
    const made = { route, handled: new Durations(), setsCookies: false };
    operations.set(route.operation, made);
    return made;
  }

  return {
    routed(route) {
      const operation = operationOf(route);
      if (operation !== undefined) operation.route = route;
    },
    handled: (route, durationMs) => operationOf(route)?.handled.add(durationMs),
    answered(route, headers) {
      const operation = operationOf(route);
      if (operation !== undefined) operation.setsCookies ||= headers.some(([name]) => name === "set-cookie");
    },
    stepped(name, durationMs, isAnswered) {
      let step = steps.get(name);
      if (step === undefined) {
        if (steps.size >= namesMax) return;
        steps.set(name, (step = { answered: new Durations(), unanswered: new Durations() }));
      }
      (isAnswered ? step.answered : step.unanswered).add(durationMs);
    },
    named(what, seen) {
      for (const name of seen) if (names[what].size < searchedMax) names[what].add(name);
    },
    names: (what) => [...names[what]],
    operations: () => Object.fromEntries([...operations].map(([name, operation]) => [name, notedOf(operation)])),
    steps: () =>
      Object.fromEntries(
        [...steps].map(([name, { answered, unanswered }]) => [
          name,
          { answered: answered.figures(), unanswered: unanswered.figures() },
        ]),
      ),
  };
}
