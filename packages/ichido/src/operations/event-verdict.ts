/** What became of an event: where the outbox has it, what each handler of the inbox did, and what people decided. */
import { unhandledHandler } from "../inbox/dead-letters.ts";
import type { Inbox, InboxEntry } from "../inbox/index.ts";
import type { Outbox, OutboxEntry } from "../outbox/index.ts";
import type { TimelineEntry } from "./timeline.ts";
import { verdicts } from "./verdict.ts";
import type { Verdict } from "./why.ts";

/** Without `dead`, decisions of people are not told. */
export interface EventParts {
  readonly inbox?: Pick<Inbox<never>, "find"> & { readonly dead?: Pick<Inbox<never>["dead"], "audit"> };
  readonly outbox?: Pick<Outbox<never>, "find"> & { readonly dead?: Pick<Outbox<never>["dead"], "audit"> };
}

type Outcome = InboxEntry["outcome"] | OutboxEntry["outcome"];

/** The first that is there is the verdict: what waits for a person comes before what goes on by itself. */
const order: readonly Outcome[] = ["dead", "parked", "replaying", "pending", "discarded", "processed", "sent"];

const kinds = {
  dead: "event-dead",
  parked: "event-parked",
  replaying: "event-replaying",
  pending: "event-pending",
  discarded: "event-discarded",
  processed: "event-once",
  sent: "event-sent",
} as const satisfies Readonly<Record<Outcome, Verdict["verdict"]>>;

interface Known {
  readonly inbox: readonly InboxEntry[];
  readonly outbox: readonly OutboxEntry[];
  readonly decisions: readonly (Pick<TimelineEntry, "atMs" | "text"> & {
    /** What it is since, where nothing else tells. */
    readonly leaves: Outcome | undefined;
  })[];
}

async function knownOf({ inbox, outbox }: EventParts, id: string): Promise<Known> {
  const [entries, events, decided, sent] = await Promise.all([
    inbox?.find(id) ?? [],
    outbox?.find(id) ?? [],
    inbox?.dead?.audit({ id }) ?? [],
    outbox?.dead?.audit({ id }) ?? [],
  ]);
  const told = [...decided, ...sent.map((each) => ({ ...each, handler: "outbox" }))];
  return {
    inbox: entries,
    outbox: events,
    decisions: told
      .map(({ atMs, action, actor, reason, handler }) => ({
        atMs,
        text: `${action} by ${actor}: ${reason} (${handler})`,
        leaves: action === "discard" ? ("discarded" as const) : handler === "outbox" ? ("sent" as const) : undefined,
      }))
      .toSorted((one, other) => one.atMs - other.atMs),
  };
}

/** What a consumer has is not on its way any more: a relay that died before it noted that sends it again. */
function outcomesOf({ inbox, outbox, decisions }: Known): ReadonlySet<Outcome> {
  const waiting = outbox.filter(({ outcome }) => outcome === "dead" || inbox.length === 0);
  const found = new Set<Outcome>([...inbox, ...waiting].map(({ outcome }) => outcome));
  const { leaves } = decisions.at(-1) ?? {};
  return found.size === 0 && leaves !== undefined ? new Set([leaves]) : found;
}

function deadText(inbox: readonly InboxEntry[], outbox: readonly OutboxEntry[]): string {
  const namesOf = (isMeant: (entry: InboxEntry) => boolean): string =>
    [...new Set(inbox.filter(isMeant).map(({ handler }) => handler))].join(", ");
  const conflicts = namesOf(({ reason }) => reason === "conflict");
  const others = namesOf(({ handler, reason }) => reason !== "conflict" && handler !== unhandledHandler);
  return [
    ...outbox.map(({ reason }) => `the event was given up by the relay (${reason ?? "dead"}) and waits for a person`),
    ...(others === "" ? [] : [`the event was given up by ${others} and waits for a person`]),
    ...(inbox.some(({ handler }) => handler === unhandledHandler)
      ? ["no handler wanted the event, and it waits for a person"]
      : []),
    ...(conflicts === ""
      ? []
      : [`an event with this id and other content came to ${conflicts} and waits for a person`]),
  ].join("; ");
}

function pendingText(entries: readonly OutboxEntry[]): string {
  const behind = entries.find(({ behindSeq }) => behindSeq !== undefined)?.behindSeq;
  const tried = Math.max(...entries.map(({ attempts }) => attempts));
  const why = behind !== undefined ? `: it stands behind number ${behind} of its key` : "";
  const times = tried === 0 ? "" : `, after ${tried} ${tried === 1 ? "attempt" : "attempts"}`;
  return `the event is in the outbox and has not been sent yet${times}${why}`;
}

function sentenceOf(worst: Outcome, { inbox, outbox }: Known): string {
  const having = inbox.filter(({ outcome }) => outcome === worst);
  const handlers = [...new Set(having.map(({ handler }) => handler))].join(", ");
  const events = outbox.filter(({ outcome }) => outcome === worst);
  switch (worst) {
    case "dead":
      return deadText(having, events);
    case "parked":
      return `the event has not been processed by ${handlers}: it is parked, and tried again by itself`;
    case "replaying":
      return `the event was given up by ${handlers}; a person lets it run again, at the next pass of its consumer`;
    case "pending":
      return pendingText(events);
    case "discarded":
      return handlers === ""
        ? "the event was given up, and a person discarded it"
        : `the event was given up by ${handlers}, and a person let it go or gave it to other handlers`;
    case "processed":
      return `the event took effect once for each of its handlers (${handlers}), however often it was delivered`;
    case "sent":
      return "the event was sent: a broker has taken it over, and no consumer of this inbox has it";
  }
}

function stepsFor(worst: Outcome, { inbox, outbox }: Known): readonly string[] {
  const dead = inbox.filter(({ outcome }) => outcome === "dead");
  const letter = outbox.find(({ outcome }) => outcome === "dead");
  switch (worst) {
    case "dead":
      return [
        ...(letter === undefined ? [] : [`npx ichido outbox show ${letter.seq}, then replay or discard it`]),
        ...(dead.some(({ reason }) => reason === "conflict")
          ? ["find out what sends two events under one id, then npx ichido inbox discard"]
          : []),
        ...(dead.some(({ handler }) => handler === unhandledHandler)
          ? ["deploy a handler for its topic, then npx ichido inbox replay with --to, or discard it"]
          : []),
        ...(dead.some(({ handler, reason }) => handler !== unhandledHandler && reason !== "conflict")
          ? ["npx ichido inbox show, then replay or discard it"]
          : []),
      ];
    case "parked":
      return ["look into the consumer's log for why it fails; npx ichido stats has how many are parked"];
    case "replaying":
      return ["where it stays so, no consumer has its handler: npx ichido stats"];
    case "pending":
      return ["npx ichido outbox list: whether relays are at work or paused, and what was given up before it"];
    default:
      return [];
  }
}

function inboxText({ handler, outcome, reason, attempts = 0 }: InboxEntry): string {
  if (outcome !== "parked") return `${handler}: ${outcome}${reason === undefined ? "" : ` (${reason})`}`;
  return attempts === 0
    ? `${handler}: parked behind another event of its key`
    : `${handler}: parked after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
}

function outboxText({ outcome, seq, reason }: OutboxEntry): string {
  const texts = { pending: "added, not sent yet", dead: `given up (${reason ?? "dead"})`, sent: "sent" } as const;
  return `outbox: number ${seq} ${texts[outcome]}`;
}

/** `key`: the record that names the event; `about`: what tells it from others of that record. */
function timelineOf({ inbox, outbox, decisions }: Known, key = "", about = ""): readonly TimelineEntry[] {
  const events = [
    ...inbox.map((entry) => ({ atMs: entry.atMs, text: inboxText(entry) })),
    ...outbox.map((entry) => ({ atMs: entry.atMs, text: outboxText(entry) })),
  ];
  return [
    ...events.map(({ atMs, text }): TimelineEntry => ({ atMs, kind: "event", key, text: about + text })),
    ...decisions.map(({ atMs, text }): TimelineEntry => ({ atMs, kind: "operator", key, text: about + text })),
  ].toSorted((one, other) => one.atMs - other.atMs);
}

export async function ofEvent(parts: EventParts, id: string): Promise<Verdict | undefined> {
  const known = await knownOf(parts, id);
  const outcomes = outcomesOf(known);
  const worst = order.find((each) => outcomes.has(each));
  if (worst === undefined) return undefined;
  return {
    v: 1,
    verdict: kinds[worst],
    severity: verdicts[kinds[worst]],
    says: sentenceOf(worst, known),
    confidence: "high",
    understood: ["event"],
    keys: [],
    timeline: timelineOf(known),
    next: stepsFor(worst, known),
    missing:
      worst === "sent" && parts.inbox === undefined ? ["no inbox is set: what consumers did with it is not known"] : [],
  };
}

/** Of one record: those that it names. */
export const eventsMax = 20;

/** What a record names as `ctx.resource("event", id)` is part of its story. */
export async function eventsOf(
  parts: EventParts,
  key: string,
  ids: readonly string[],
): Promise<readonly TimelineEntry[]> {
  if (parts.inbox === undefined && parts.outbox === undefined) return [];
  const told = await Promise.all(
    ids.slice(0, eventsMax).map(async (id) => timelineOf(await knownOf(parts, id), key, `event ${id}, `)),
  );
  return told.flat();
}
