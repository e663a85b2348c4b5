/** Dead letters of either side, by one set of routes: what outbox and inbox do differently is a `LetterBox`. */
import { present } from "../core/contract/present.ts";
import { sha256Hex } from "../core/request/sha256.ts";
import type { EventMessage } from "../brokers/message.ts";
import { messageJson, shownError, textOfBytes } from "../operations/told-record.ts";
import type {
  AuditView,
  DecideLettersAnswer,
  LetterAnswer,
  LettersAnswer,
  LetterView,
  RevealLetterAnswer,
} from "./contract.ts";
import { Body } from "./body.ts";
import type { Asked } from "./parts.ts";
import { storeProblem } from "./gate.ts";
import { Problem } from "./problem.ts";

/** A letter with what is hidden of it. */
export interface Letter {
  readonly view: LetterView;
  readonly message: EventMessage;
  readonly error: string | undefined;
}

export type Decided = DecideLettersAnswer["results"][number]["result"];

export interface Decision {
  readonly action: "replay" | "discard";
  readonly actor: string;
  readonly reason: string;
  readonly to?: readonly string[];
}

export interface LetterBox {
  readonly side: "outbox" | "inbox";
  list(asked: Asked): Promise<{ readonly letters: readonly Letter[]; readonly cursor?: string }>;
  /** Undefined: it is not there, or no such name can be. */
  get(asked: Asked, letter: string): Promise<Letter | undefined>;
  audit(asked: Asked, letter: string): Promise<readonly AuditView[]>;
  handlers(asked: Asked, letter: string): Promise<LetterAnswer["handlers"]>;
  /** What would become of it, without doing it. */
  foresee(letter: Letter, decision: Decision): Decided;
  decide(asked: Asked, letter: Letter, decision: Decision): Promise<Decided>;
}

const lettersMax = 200;
const handlersMax = 20;

/** What a person saw: another value means that it was decided about, or failed anew. */
export function seenOf(...parts: readonly unknown[]): string {
  return sha256Hex(JSON.stringify(parts)).slice(0, 16);
}

export function letterView(
  message: EventMessage,
  letter: Omit<LetterView, keyof ReturnType<typeof messageJson> | "error"> & { readonly error: string | undefined },
): LetterView {
  const { traceparent: _, tracestate: __, ...told } = messageJson(message, false);
  return { ...told, ...letter, error: shownError(letter, { reveal: false }) };
}

export async function listLetters(box: LetterBox, asked: Asked): Promise<LettersAnswer> {
  const { letters, cursor } = await box.list(asked);
  return { letters: letters.map(({ view }) => view), ...present({ cursor }) };
}

export async function showLetter(box: LetterBox, asked: Asked): Promise<LetterAnswer> {
  asked.query();
  const letter = await box.get(asked, asked.named);
  const audit = await box.audit(asked, asked.named);
  if (letter === undefined && audit.length === 0) throw new Problem("not-found", "there is no such letter");
  return { ...(letter && { letter: letter.view }), audit, handlers: await box.handlers(asked, asked.named) };
}

async function seenLetter(box: LetterBox, asked: Asked, name: string, seen: string): Promise<Letter> {
  const letter = await box.get(asked, name);
  if (letter === undefined) throw new Problem("not-found", "there is no such letter; somebody decided about it");
  if (letter.view.seen === seen) return letter;
  const more = asked.user.can.includes("read") ? { letter: letter.view } : {};
  throw new Problem("changed", "the letter changed since you looked at it; look again", more);
}

/** Noted in the audit before anything is shown. */
export async function revealLetter(box: LetterBox, asked: Asked): Promise<RevealLetterAnswer> {
  const body = await asked.body("reason", "seen");
  const { reason } = body;
  const { view, message, error } = await seenLetter(box, asked, asked.named, body.text("seen"));
  const about = `${box.side} ${view.topic} ${view.id}`.slice(0, 300);
  await asked.parts.store.note({ actor: asked.user.user, action: "reveal", reason: `${reason} (${about})` });
  return { payload: textOfBytes(message.payload), headers: message.headers, error };
}

interface Chosen {
  readonly letter: string;
  readonly seen: string;
}

function chosenOf(body: Body): readonly Chosen[] {
  const chosen = body.list("letters", lettersMax).map((each) => {
    const one = new Body(each, ["letter", "seen"]);
    return { letter: one.text("letter"), seen: one.text("seen") };
  });
  if (body.whole("count", 1, lettersMax) !== chosen.length)
    throw new Problem("body", "count: expected the number of letters", { parameter: "count" });
  if (new Set(chosen.map(({ letter }) => letter)).size !== chosen.length)
    throw new Problem("body", "letters: expected each once", { parameter: "letters" });
  return chosen;
}

function handlersOf(body: Body): Pick<Decision, "to"> {
  if (!body.has("to")) return {};
  const to = body.list("to", handlersMax);
  if (to.every((name) => typeof name === "string" && /^[A-Za-z0-9][\w.:-]{0,99}$/.test(name)))
    return { to: to as readonly string[] };
  throw new Problem("body", "to: expected names of handlers", { parameter: "to" });
}

type Result = DecideLettersAnswer["results"][number];

async function decideOne(
  box: LetterBox,
  asked: Asked,
  { letter: name, seen }: Chosen,
  decision: Decision,
  isPreview: boolean,
): Promise<Result> {
  try {
    const letter = await box.get(asked, name);
    if (letter === undefined) return { letter: name, result: "absent" };
    const { topic } = letter.view;
    if (letter.view.seen !== seen) return { letter: name, topic, result: "changed" };
    const foreseen = box.foresee(letter, decision);
    const result = isPreview || foreseen !== "ok" ? foreseen : await box.decide(asked, letter, decision);
    return { letter: name, topic, result };
  } catch (error) {
    return { letter: name, result: "failed", message: storeProblem(error).message };
  }
}

/** One by one: each letter is its own transaction with its own audit, and one that changed stops no other. */
export async function decideLetters(
  box: LetterBox,
  action: Decision["action"],
  asked: Asked,
): Promise<DecideLettersAnswer> {
  const body = await asked.body("reason", "letters", "count", "preview", "to");
  const decision: Decision = { action, actor: asked.user.user, reason: body.reason, ...handlersOf(body) };
  const chosen = chosenOf(body);
  const preview = body.boolean("preview");
  if (!preview) {
    const about = `${chosen.length} of the ${box.side}`;
    await asked.parts.store.note({ actor: decision.actor, action, reason: `${decision.reason} (${about})` });
  }
  const results: Result[] = [];
  for (const each of chosen) results.push(await decideOne(box, asked, each, decision, preview));
  return { preview, results, done: results.filter(({ result }) => result === "ok").length };
}
