/** What engines told of themselves, in whatever process they run: options, and what they measured. */
import { engineNoteEveryMs, type EngineNoteText, type NotedOperation } from "../core/contract/engine-note.ts";
import type { DurationFigures } from "../core/contract/duration-figures.ts";
import { findingOf, type Finding } from "../core/contract/finding.ts";
import type { Store } from "../core/contract/store.ts";
import type { DoctorParts } from "./doctor-parts.ts";
import { isOlder } from "./driver-versions.ts";

/** A percentile of fewer says less than the longest. */
const sampleMin = 100;
/** Calls without an answer that are this few may be an outage of a moment. */
const unansweredMin = 3;
const unansweredPart = 0.01;
/** Refused connections end at once; time-outs do not. */
const timeoutMsMin = 100;
const nodeMin = "22.18.0";

/** Engines that may serve now; older notes are of processes that have ended. */
export async function liveNotes(store: Store): Promise<readonly EngineNoteText[]> {
  const noted = (await store.engines?.()) ?? [];
  return noted.filter(({ ageMs }) => ageMs <= 3 * engineNoteEveryMs).flatMap(({ text }) => readNote(text) ?? []);
}

/** A note of another version of ichido may have another form. */
export function readNote(text: string): EngineNoteText | undefined {
  try {
    const note = JSON.parse(text) as EngineNoteText;
    return note.v === 1 ? note : undefined;
  } catch {
    return undefined;
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** What to expect at worst. */
function usualMs({ count, p99Ms, maxMs }: DurationFigures): number {
  return count >= sampleMin ? p99Ms : maxMs;
}

function* operationsOf(notes: readonly EngineNoteText[]): Generator<readonly [string, NotedOperation]> {
  for (const { operations } of notes) yield* Object.entries(operations);
}

function differing(notes: readonly EngineNoteText[]): Finding[] {
  const values = new Map<string, Map<string, string>>();
  for (const { process, options, operations } of notes) {
    const all = Object.entries(operations).flatMap(([name, noted]) =>
      Object.entries(noted.options).map(([option, value]) => [`${name}: ${option}`, value] as const),
    );
    for (const [place, value] of [["sharedKeys", options["sharedKeys"] ?? false] as const, ...all]) {
      const seen = values.get(place) ?? new Map<string, string>();
      values.set(place, seen.set(JSON.stringify(value), seen.get(JSON.stringify(value)) ?? process));
    }
  }
  return [...values].flatMap(([place, seen]) => {
    if (seen.size < 2) return [];
    const told = [...seen].map(([value, process]) => `${value} in ${process}`).join(", ");
    const what = `engines on the same tables differ in ${place}: ${told}`;
    return [findingOf("engines-differ", what, "finish the deploy under way, or give the engines the same options")];
  });
}

function runtimes(notes: readonly EngineNoteText[]): Finding[] {
  return notes.flatMap(({ process, runtime }) => {
    const [, version] = /^Node (\S+)$/.exec(runtime) ?? [];
    if (version === undefined || !isOlder(version, nodeMin)) return [];
    return [findingOf("runtime-old", `${process} runs Node ${version}`, `run Node ${nodeMin} or later`)];
  });
}

function leases(notes: readonly EngineNoteText[]): Finding[] {
  return [...operationsOf(notes)].flatMap(([name, { options, handled }]) => {
    const leaseMs = Number(options["leaseMs"]);
    if (handled.count === 0 || usualMs(handled) <= leaseMs) return [];
    const what =
      `${name}: handlers take ${seconds(usualMs(handled))}, the lease is ${seconds(leaseMs)}: ` +
      "a process that cannot renew it for that long (a blocked event loop, a paused machine) is overtaken";
    const remedy = `set leaseMs to ${Math.min(60_000, Math.ceil((usualMs(handled) * 1.5) / 1_000) * 1_000)}, or do less in one handler`;
    return [findingOf("lease-short", what, remedy)];
  });
}

function clientTimeouts(notes: readonly EngineNoteText[], given: DoctorParts["clientTimeoutMs"]): Finding[] {
  if (given === undefined) return [];
  return [...operationsOf(notes)].flatMap(([name, { handled }]) => {
    const timeoutMs = typeof given === "number" ? given : given[name];
    if (timeoutMs === undefined || handled.count === 0 || usualMs(handled) < timeoutMs) return [];
    const what = `${name}: clients wait ${seconds(timeoutMs)}, answers take ${seconds(usualMs(handled))}: callers give up and ask again`;
    const remedy = `let clients wait ${seconds(usualMs(handled) * 2)} or longer, or answer 202 with profile "polling"`;
    return [findingOf("client-timeout-short", what, remedy)];
  });
}

/** Calls that end without an answer after nearly the same time were given up by their client. */
function providerTimeouts(notes: readonly EngineNoteText[]): Finding[] {
  const steps = notes.flatMap((note) => Object.entries(note.steps));
  return steps.flatMap(([name, { answered, unanswered }]) => {
    const isUsual = unanswered.count >= Math.max(unansweredMin, answered.count * unansweredPart);
    const isTimed = unanswered.p50Ms >= timeoutMsMin && unanswered.p50Ms >= 0.75 * unanswered.maxMs;
    const isSlow = answered.count === 0 || answered.maxMs >= 0.5 * unanswered.p50Ms;
    if (!isUsual || !isTimed || !isSlow) return [];
    const what =
      `step ${name}: ${unanswered.count} of ${unanswered.count + answered.count} calls were given up after about ` +
      `${seconds(unanswered.p50Ms)}, and the slowest answer took ${seconds(answered.maxMs)}: the provider takes longer than its client waits`;
    const remedy =
      "raise the time-out of the client that the step uses above what the provider takes, and verify what was given up";
    return [findingOf("provider-timeout-short", what, remedy)];
  });
}

function cookies(notes: readonly EngineNoteText[]): Finding[] {
  return [...operationsOf(notes)].flatMap(([name, { options, setsCookies }]) => {
    if (!setsCookies || options["optionalFor"] === "") return [];
    const what =
      `${name}: keys are optional for ${String(options["optionalFor"])} and answers set cookies: a replay carries no ` +
      "Set-Cookie, so a caller who sends a key may be left without a session";
    return [findingOf("cookie-optional-key", what, "set required: true, or set the cookie on a route without keys")];
  });
}

export function checkEngines(notes: readonly EngineNoteText[], parts: DoctorParts): readonly Finding[] {
  return [
    ...runtimes(notes),
    ...differing(notes),
    ...leases(notes),
    ...clientTimeouts(notes, parts.clientTimeoutMs),
    ...providerTimeouts(notes),
    ...cookies(notes),
  ];
}
