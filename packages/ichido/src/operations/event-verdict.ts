/** What became of an event. It is known by the inbox alone: the relay forgets what it has sent. */
import type { Inbox, InboxEntry } from "../inbox/index.ts";
import { verdicts } from "./verdict.ts";
import type { Verdict } from "./why.ts";

type Outcome = InboxEntry["outcome"];

/** The first that some handler has is the verdict: what waits for a person comes before what goes on by itself. */
const order: readonly Outcome[] = ["dead", "parked", "processed"];

const kinds = {
  dead: "event-dead",
  parked: "event-parked",
  processed: "event-once",
} as const satisfies Readonly<Record<Outcome, Verdict["verdict"]>>;

const sentences: Readonly<Record<Outcome, (handlers: string) => string>> = {
  dead: (handlers) => `the event was given up by ${handlers} and waits for a person`,
  parked: (handlers) => `the event has not been processed by ${handlers}: it is parked, and tried again by itself`,
  processed: (handlers) =>
    `the event took effect once for each of its handlers (${handlers}), however often it was delivered`,
};

const steps: Readonly<Record<Outcome, readonly string[]>> = {
  dead: ["npx ichido inbox show, then replay or discard it"],
  parked: ["look into the consumer's log for why it fails; npx ichido stats has how many are parked"],
  processed: [],
};

function textOf({ handler, outcome, attempts = 0 }: InboxEntry): string {
  if (outcome !== "parked") return `${handler}: ${outcome}`;
  return attempts === 0
    ? `${handler}: parked behind another event of its key`
    : `${handler}: parked after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
}

export async function ofEvent(inbox: Pick<Inbox<never>, "find"> | undefined, id: string): Promise<Verdict | undefined> {
  const entries = (await inbox?.find(id)) ?? [];
  const worst = order.find((each) => entries.some(({ outcome }) => outcome === each));
  if (worst === undefined) return undefined;
  const handlers = entries.filter(({ outcome }) => outcome === worst).map(({ handler }) => handler);
  return {
    v: 1,
    verdict: kinds[worst],
    severity: verdicts[kinds[worst]],
    says: sentences[worst](handlers.join(", ")),
    confidence: "high",
    understood: ["event"],
    keys: [],
    timeline: entries
      .map((entry) => ({ atMs: entry.atMs, kind: "event" as const, key: "", text: textOf(entry) }))
      .toSorted((one, other) => one.atMs - other.atMs),
    next: steps[worst],
    missing: [],
  };
}
