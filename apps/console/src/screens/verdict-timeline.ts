/** The timeline of a verdict as lanes: those of each key, then the provider and people. */
import type { AskAnswer } from "../contract.ts";
import { words } from "../i18n/words.ts";
import type { Happening } from "../parts/timeline.tsx";
import { answeredAt, calledAt, ranAt } from "./happenings.ts";

type Entry = AskAnswer["timeline"][number];

const looks: Readonly<Record<Entry["kind"], Pick<Happening, "tone" | "shape">>> = {
  attempt: { tone: "warn", shape: "half" },
  takeover: { tone: "warn", shape: "ring" },
  step: { tone: "run", shape: "square" },
  effect: { tone: "ok", shape: "diamond" },
  operator: { tone: "person", shape: "person" },
  event: { tone: "run", shape: "letter" },
};

function laneOf({ kind, key }: Entry): string {
  const { lanes, keyName } = words();
  if (kind === "effect") return lanes.provider;
  if (kind === "operator") return lanes.people;
  return kind === "event" ? lanes.events : keyName(key);
}

function happeningOf(entry: Entry): Happening {
  const { at, kind, facts, text } = entry;
  const atMs = Date.parse(at);
  const { outcome, tookMs, status, run = 1, step, effect, process, leftOpen } = facts ?? {};
  const lane = laneOf(entry);
  if (effect !== undefined) return { lane, atMs, ...looks[kind], text: `${step ?? ""}: ${effect}` };
  if (step !== undefined) return calledAt(`${entry.key} · ${step}`, run, atMs, tookMs);
  if (outcome === "executed") return ranAt(lane, run, { atMs, tookMs: tookMs ?? 0, status, leftOpen }, process);
  if (outcome !== undefined) return answeredAt(lane, outcome, { atMs, tookMs: tookMs ?? 0, status }, process);
  // Of a record without any note, the server says that it was claimed.
  return { lane, atMs, ...looks[kind], text: kind === "attempt" ? words().claimed : text };
}

/** Of a key its requests first, then its steps. */
const order: readonly Entry["kind"][] = ["attempt", "takeover", "step", "event", "effect", "operator"];
const isOfKey = ({ kind }: Entry): boolean => kind !== "effect" && kind !== "operator";

export function happeningsOf({ timeline }: AskAnswer): readonly Happening[] {
  const sorted = timeline
    // The end of a step is the end of its bar.
    .filter(({ kind, facts }) => kind !== "step" || facts !== undefined)
    .toSorted((one, other) => one.key.localeCompare(other.key) || order.indexOf(one.kind) - order.indexOf(other.kind));
  return [...sorted.filter(isOfKey), ...sorted.filter((entry) => !isOfKey(entry))].map(happeningOf);
}
