/** The inbox: what is remembered, and messages that no handler could process. */
import { present } from "../core/contract/present.ts";
import { unhandledHandler, unreadableHandler, type InboxDeadLetter } from "../inbox/dead-letters.ts";
import { iso } from "../operations/told-record.ts";
import type { InboxAnswer } from "./contract.ts";
import { inboxOf, type Asked } from "./parts.ts";
import { letterView, seenOf, type Letter, type LetterBox } from "./letters.ts";

interface Name {
  readonly handler: string;
  readonly id: string;
}

const nameMax = 2_000;

function textOfName({ handler, id }: Name): string {
  return Buffer.from(JSON.stringify([handler, id])).toString("base64url");
}

function nameOf(text: string): Name | undefined {
  if (text.length > nameMax) return undefined;
  try {
    const parts = JSON.parse(Buffer.from(text, "base64url").toString()) as unknown;
    if (!Array.isArray(parts) || parts.length !== 2) return undefined;
    const [handler, id] = parts as readonly unknown[];
    return typeof handler === "string" && typeof id === "string" && id !== "" ? { handler, id } : undefined;
  } catch {
    return undefined;
  }
}

function letterOf({ handler, message, reason, error, attempts, sinceMs, state }: InboxDeadLetter): Letter {
  const view = letterView(message, {
    letter: textOfName({ handler, id: message.id }),
    seen: seenOf(handler, sinceMs, attempts, reason, state),
    handler,
    state,
    reason,
    error,
    attempts,
    since: iso(sinceMs),
  });
  return { view, message, error };
}

export const inboxLetters: LetterBox = {
  side: "inbox",
  async list(asked) {
    const inbox = inboxOf(asked);
    const query = asked.query("handler", "topic", "cursor", "limit");
    const after = query.whole("cursor", 0, Number.MAX_SAFE_INTEGER);
    const [handler, topic] = [query.text("handler"), query.text("topic")];
    const wanted = { limit: query.limit, ...present({ handler, topic, cursor: after }) };
    const { letters, cursor } = await asked.parts.gate(() => inbox.dead.list(wanted));
    return { letters: letters.map(letterOf), ...(cursor !== undefined && { cursor: String(cursor) }) };
  },
  async get(asked, letter) {
    const inbox = inboxOf(asked);
    const name = nameOf(letter);
    const found = name && (await asked.parts.gate(() => inbox.dead.get(name)));
    return found && letterOf(found);
  },
  async audit(asked, letter) {
    const inbox = inboxOf(asked);
    const name = nameOf(letter);
    const entries = name === undefined ? [] : await asked.parts.gate(() => inbox.dead.audit(name));
    return entries.map(({ atMs, actor, action, reason }) => ({ at: iso(atMs), actor, action, reason }));
  },
  async handlers(asked, letter) {
    const inbox = inboxOf(asked);
    const name = nameOf(letter);
    const entries = name === undefined ? [] : await asked.parts.gate(() => inbox.find(name.id));
    return entries.map(({ handler, outcome, atMs }) => ({ handler, outcome, at: iso(atMs) }));
  },
  foresee({ view }, { action, to }) {
    if (action === "discard") return "ok";
    if (view.handler === unreadableHandler) return "unreadable";
    if (to === undefined && view.handler === unhandledHandler) return "needs-handler";
    return view.state === "replaying" && to === undefined ? "already" : "ok";
  },
  async decide(asked, { view }, { action, actor, reason, to }) {
    const inbox = inboxOf(asked);
    const decision = { handler: view.handler ?? "", id: view.id, actor, reason };
    return asked.parts.gate(() =>
      action === "discard"
        ? inbox.dead.discard({ ...decision, state: view.state })
        : inbox.dead.replay({ ...decision, ...present({ to }) }),
    );
  },
};

export async function showInbox(asked: Asked): Promise<InboxAnswer> {
  asked.query();
  const inbox = inboxOf(asked);
  return { stats: await asked.parts.gate(() => inbox.stats()), retentionMs: inbox.retentionMs };
}
