/** What can happen to a record, as it is drawn and said: the same in a verdict and on the screen of a key. */
import { words } from "../i18n/words.ts";
import { lookOfOutcome, nameOfOutcome } from "../parts/state.tsx";
import type { Happening } from "../parts/timeline.tsx";
import { duration } from "../time.ts";

type Told = string | number | undefined;

const joined = (...parts: readonly Told[]): string => parts.filter((part) => part !== undefined).join(" · ");

interface Asked {
  readonly atMs: number;
  readonly tookMs: number;
  readonly status?: number | undefined;
  readonly leftOpen?: true | undefined;
}

/** The handler ran. */
export function ranAt(lane: string, run: number, asked: Asked, ...more: readonly Told[]): Happening {
  const { atMs, tookMs, status, leftOpen } = asked;
  if (leftOpen)
    return {
      lane,
      atMs,
      untilMs: atMs + tookMs,
      tone: "warn",
      shape: "half",
      text: joined(words().ran(run, status), words().leftOpen, duration(tookMs), ...more),
    };
  const isGood = status === undefined || status < 500;
  return {
    lane,
    atMs,
    untilMs: atMs + tookMs,
    tone: isGood ? "ok" : "bad",
    shape: isGood ? "full" : "cross",
    text: joined(words().ran(run, status), duration(tookMs), ...more),
  };
}

/** A request that was answered without running: replayed or refused. */
export function answeredAt(lane: string, outcome: string, asked: Asked, ...more: readonly Told[]): Happening {
  const { atMs, tookMs, status } = asked;
  const [tone, shape] = lookOfOutcome(outcome);
  const answer = status === undefined ? nameOfOutcome(outcome) : `${nameOfOutcome(outcome)} ${status}`;
  return { lane, atMs, tone, shape, text: joined(answer, duration(tookMs), ...more) };
}

/** A call of somebody else; without `tookMs` it did not come back. */
export function calledAt(lane: string, run: number, atMs: number, tookMs: number | undefined): Happening {
  if (tookMs === undefined)
    return { lane, atMs, isOpen: true, tone: "warn", shape: "half", text: words().stepOpen(run) };
  return {
    lane,
    atMs,
    untilMs: atMs + tookMs,
    tone: "run",
    shape: "square",
    text: words().stepFinished(run, duration(tookMs)),
  };
}
