/** Everything that is known of a record, as lanes: requests, runs, steps, the provider, events, people. */
import type { AttemptView, KeyAnswer, ProbesAnswer, StepView } from "../contract.ts";
import { words } from "../i18n/words.ts";
import type { Happening } from "../parts/timeline.tsx";
import { answeredAt, calledAt, ranAt } from "./happenings.ts";

const ms = (iso: string): number => Date.parse(iso);

function requestOf({ at, outcome, status, tookMs, askedBy, process }: AttemptView): Happening {
  return answeredAt(words().lanes.requests, outcome, { atMs: ms(at), tookMs, status }, process, askedBy);
}

function runOf({ at, status, tookMs, fence, process, release, leftOpen }: AttemptView, run: number): Happening {
  const { lanes, fenceIs } = words();
  const told = fence === undefined ? undefined : fenceIs(fence);
  return ranAt(lanes.run(run), run, { atMs: ms(at), tookMs, status, leftOpen }, told, process, release);
}

/** A run that ended before it could be noted: its steps, or the record itself, say when it began. */
function vanishedRun(number: number, { record, steps, attempts }: KeyAnswer): Happening | undefined {
  const began = steps.filter(({ attempt }) => attempt === number).map(({ startedAt }) => ms(startedAt));
  const atMs = number === 1 ? ms(record.createdAt) : Math.min(...began);
  if (!Number.isFinite(atMs)) return undefined;
  const isRunning = record.state === "processing" && number === record.attempts;
  // Old notes may have been let go: then nothing is said about that run.
  if (!isRunning && attempts.some((each) => (each.attempt ?? 0) < number && each.outcome === "executed"))
    return undefined;
  return {
    lane: words().lanes.run(number),
    atMs,
    isOpen: true,
    tone: isRunning ? "run" : "warn",
    shape: isRunning ? "ring" : "half",
    text: isRunning ? words().running : words().vanished,
  };
}

function runsOf(answer: KeyAnswer): readonly Happening[] {
  const noted = answer.attempts.filter(({ outcome }) => outcome === "executed");
  const numbers = new Set([
    ...noted.map(({ attempt }) => attempt ?? 1),
    ...Array.from({ length: Math.min(answer.record.attempts, 20) }, (_, at) => at + 1),
  ]);
  return [...numbers]
    .toSorted((one, other) => one - other)
    .flatMap((number) => {
      const found = noted.filter(({ attempt = 1 }) => attempt === number);
      if (found.length > 0) return found.map((attempt) => runOf(attempt, number));
      return vanishedRun(number, answer) ?? [];
    });
}

function stepOf({ name, startedAt, lastStartedAt, finishedAt, attempt }: StepView): readonly Happening[] {
  const last = ms(lastStartedAt);
  const called = calledAt(name, attempt, last, finishedAt === undefined ? undefined : ms(finishedAt) - last);
  if (lastStartedAt === startedAt) return [called];
  return [
    { lane: name, atMs: ms(startedAt), isOpen: true, tone: "warn", shape: "half", text: words().stepFirst },
    called,
  ];
}

export function effectText({ id, amount, currency }: ProbesAnswer["probes"][number]["effects"][number]): string {
  return [id, amount, currency].filter((part) => part !== undefined).join(" ");
}

function effectsOf(probes: ProbesAnswer | undefined): readonly Happening[] {
  return (probes?.probes ?? []).flatMap(({ step, effects }) =>
    effects.flatMap((effect): readonly Happening[] =>
      effect.at === undefined || !Number.isFinite(ms(effect.at))
        ? []
        : [
            {
              lane: words().lanes.provider,
              atMs: ms(effect.at),
              tone: "ok",
              shape: "diamond",
              text: `${step}: ${effectText(effect)}`,
            },
          ],
    ),
  );
}

export function keyHappenings(answer: KeyAnswer, probes: ProbesAnswer | undefined): readonly Happening[] {
  const { lanes, action } = words();
  const requests = answer.attempts.filter(({ outcome }) => outcome !== "executed").map(requestOf);
  const events = answer.events.flatMap(({ id, handlers }) =>
    handlers.map(({ handler, outcome, at }): Happening => ({
      lane: lanes.events,
      atMs: ms(at),
      tone: outcome === "dead" ? "bad" : "run",
      shape: "letter",
      text: `${handler}: ${words().letterOutcome[outcome]} ${id}`,
    })),
  );
  const people = answer.audit.map(({ at, action: word, actor, reason }): Happening => ({
    lane: lanes.people,
    atMs: ms(at),
    tone: "person",
    shape: "person",
    text: `${action(word)} · ${actor} · ${reason}`,
  }));
  return [...runsOf(answer), ...answer.steps.flatMap(stepOf), ...effectsOf(probes), ...requests, ...events, ...people];
}
