/** The outbox: what waits, what was given up, and the switch that stops all relays. */
import { present } from "../core/contract/present.ts";
import { iso, shownError } from "../operations/told-record.ts";
import type { OutboxDeadLetter } from "../outbox/database.ts";
import type { OutboxPause } from "../outbox/pause.ts";
import type { OutboxAnswer, PauseAnswer } from "./contract.ts";
import { outboxOf, type Asked } from "./parts.ts";
import { letterView, seenOf, type Letter, type LetterBox } from "./letters.ts";
import { Problem } from "./problem.ts";

const parkedMax = 100;

function letterOf({ seq, message, reason, error, attempts, addedAtMs, deadAtMs }: OutboxDeadLetter): Letter {
  const view = letterView(message, {
    letter: String(seq),
    seen: seenOf(seq, deadAtMs, attempts, reason),
    state: "dead",
    reason,
    error,
    attempts,
    addedAt: iso(addedAtMs),
    since: iso(deadAtMs),
  });
  return { view, message, error };
}

function seqOf(letter: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(letter) && Number.isSafeInteger(Number(letter)) ? Number(letter) : undefined;
}

export const outboxLetters: LetterBox = {
  side: "outbox",
  async list(asked) {
    const outbox = outboxOf(asked);
    const query = asked.query("topic", "cursor", "limit");
    const after = query.whole("cursor", 0, Number.MAX_SAFE_INTEGER);
    const wanted = { limit: query.limit, ...present({ topic: query.text("topic"), cursor: after }) };
    const { letters, cursor } = await asked.parts.gate(() => outbox.dead.list(wanted));
    return { letters: letters.map(letterOf), ...(cursor !== undefined && { cursor: String(cursor) }) };
  },
  async get(asked, letter) {
    const outbox = outboxOf(asked);
    const seq = seqOf(letter);
    const found = seq === undefined ? undefined : await asked.parts.gate(() => outbox.dead.get(seq));
    return found && letterOf(found);
  },
  async audit(asked, letter) {
    const outbox = outboxOf(asked);
    const seq = seqOf(letter);
    const entries = seq === undefined ? [] : await asked.parts.gate(() => outbox.dead.audit(seq));
    return entries.map(({ atMs, actor, action, reason }) => ({ at: iso(atMs), actor, action, reason }));
  },
  handlers: async () => [],
  foresee: ({ view }, { action, to }) => {
    if (to !== undefined) throw new Problem("body", "to: only the inbox has handlers", { parameter: "to" });
    return action === "replay" && view.reason === "unreadable" ? "unreadable" : "ok";
  },
  async decide(asked, { view }, { action, actor, reason }) {
    const outbox = outboxOf(asked);
    const decision = { seq: Number(view.letter), actor, reason };
    return asked.parts.gate(() => (action === "replay" ? outbox.dead.replay(decision) : outbox.dead.discard(decision)));
  },
};

function pausedView(paused: OutboxPause | undefined): Pick<OutboxAnswer, "paused"> {
  if (paused === undefined) return {};
  return { paused: { actor: paused.actor, reason: paused.reason, since: iso(paused.sinceMs) } };
}

/** What the audit calls the whole outbox. */
const wholeOutbox = 0;

/** Of the switch: paused, resumed and paused again is not the pause that somebody saw. */
async function switchSeen({ parts }: Asked, outbox: ReturnType<typeof outboxOf>): Promise<string> {
  const entries = await parts.gate(() => outbox.dead.audit(wholeOutbox));
  return seenOf(entries.length, entries.at(-1)?.action, entries.at(-1)?.atMs);
}

export async function showOutbox(asked: Asked): Promise<OutboxAnswer> {
  asked.query();
  const outbox = outboxOf(asked);
  const { gate } = asked.parts;
  // Before the state: whoever switches in between makes what was seen too old, never too new.
  const seen = await switchSeen(asked, outbox);
  const [stats, paused, parked] = await Promise.all([
    gate(() => outbox.stats()),
    gate(() => outbox.paused()),
    gate(() => outbox.parked(parkedMax)),
  ]);
  return {
    stats,
    seen,
    ...pausedView(paused),
    parked: parked.map(({ topic, key, seq, reason, error, sinceMs, untilMs }) => ({
      topic,
      key,
      letter: String(seq),
      reason,
      error: shownError({ reason, error }, { reveal: false }),
      since: iso(sinceMs),
      until: untilMs === undefined ? undefined : iso(untilMs),
    })),
  };
}

export async function switchOutbox(action: "pause" | "resume", asked: Asked): Promise<PauseAnswer> {
  const body = await asked.body("reason", "seen");
  const { reason } = body;
  const seen = body.text("seen");
  const outbox = outboxOf(asked);
  const { gate, store } = asked.parts;
  if ((await switchSeen(asked, outbox)) !== seen)
    throw new Problem("changed", "somebody paused or resumed it since you looked; look again");
  const actor = asked.user.user;
  await store.note({ actor, action, reason: `${reason} (outbox)` });
  const done = await gate(() => outbox[action]({ actor, reason }));
  return { done, ...pausedView(await gate(() => outbox.paused())) };
}
