/** The state of a record and the outcome of a request, in the words of the glossary. */
import type { JSX } from "preact";
import { words } from "../i18n/words.ts";
import { Shape, type ShapeName } from "./icon.tsx";

export type Tone = "ok" | "run" | "warn" | "bad" | "person" | "quiet";

const states: Readonly<Record<string, readonly [Tone, ShapeName]>> = {
  completed: ["ok", "full"],
  processing: ["run", "ring"],
  failed: ["quiet", "cross"],
  unknown: ["warn", "half"],
};

export function State({
  state,
  status,
}: {
  readonly state: string;
  readonly status?: number | undefined;
}): JSX.Element {
  const [tone, shape] = states[state] ?? ["quiet", "square"];
  const names: Readonly<Record<string, string>> = words().state;
  return (
    <span class={`state tone-${tone}`}>
      <Shape name={shape} />
      {names[state] ?? state}
      {status !== undefined && ` ${status}`}
    </span>
  );
}

const outcomes: Readonly<Record<string, readonly [Tone, ShapeName]>> = {
  executed: ["ok", "full"],
  replayed: ["run", "back"],
  replayed_after_wait: ["run", "back"],
  outcome_unknown: ["warn", "half"],
  store_error: ["bad", "triangle"],
};

export function lookOfOutcome(outcome: string): readonly [Tone, ShapeName] {
  return outcomes[outcome] ?? ["quiet", "cross"];
}

export function nameOfOutcome(outcome: string): string {
  const names: Readonly<Record<string, string>> = words().outcome;
  return names[outcome] ?? outcome;
}

export function Outcome({
  outcome,
  status,
  leftOpen,
}: {
  readonly outcome: string;
  readonly status?: number | undefined;
  readonly leftOpen?: true | undefined;
}): JSX.Element {
  const [tone, shape] = lookOfOutcome(leftOpen ? "outcome_unknown" : outcome);
  return (
    <span class={`state tone-${tone}`}>
      <Shape name={shape} />
      {nameOfOutcome(outcome)}
      {status !== undefined && ` ${status}`}
      {leftOpen && ` · ${words().leftOpen}`}
    </span>
  );
}

export function Badge({
  tone,
  children,
}: {
  readonly tone: Tone;
  readonly children: JSX.Element | string;
}): JSX.Element {
  return <span class={`badge tone-${tone}`}>{children}</span>;
}
