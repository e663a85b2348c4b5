/** What people do to a record: reveal it, settle it, forget it. Each with a reason, and for the record as it was seen. */
import type { StoredResponse, HeaderLine } from "../core/contract/record.ts";
import type { StoredRecord } from "../core/contract/store.ts";
import type { AnswerLike } from "../core/contract/options.ts";
import { forget } from "../core/engine/forgetting.ts";
import { settle, type Settlement } from "../core/engine/settlement.ts";
import { isAsSeen, isSeenByFence } from "../core/record-machine/seen.ts";
import { nothingHappened } from "../operations/release-check.ts";
import { iso, textOfBytes } from "../operations/told-record.ts";
import type { Body } from "./body.ts";
import type { AnswerView, RevealAnswer, WrittenAnswer } from "./contract.ts";
import { may, recordNamed, type Asked } from "./parts.ts";
import { storeProblem } from "./gate.ts";
import { Problem } from "./problem.ts";
import { recordView } from "./views.ts";

const headersMax = 50;

/** The record as it is now, for whoever may look at it. */
function present(asked: Asked, record: StoredRecord): Pick<WrittenAnswer, "record"> {
  return may(asked, "read") ? { record: recordView(asked.parts, record) } : {};
}

function changed(asked: Asked, record: StoredRecord): Problem {
  return new Problem("changed", "the record changed since you looked at it; look again", present(asked, record));
}

async function seenRecord(asked: Asked, body: Body): Promise<StoredRecord> {
  const record = await recordNamed(asked);
  if (!isAsSeen(record, body)) throw changed(asked, record);
  return record;
}

/** Where the fence does not tell all, the moment of the last change does. */
function seenHold(asked: Asked, body: Body, record: StoredRecord): void {
  if (isSeenByFence(record)) return;
  if (!body.has("updatedAt") || body.text("updatedAt") !== iso(record.updatedAtMs)) throw changed(asked, record);
}

/** As it is now, after a decision. */
async function written(asked: Asked, done: WrittenAnswer["done"]): Promise<WrittenAnswer> {
  return { done, ...present(asked, await recordNamed(asked)) };
}

function answerView({ status, headers, body }: StoredResponse): AnswerView {
  return { status, headers: headers as readonly HeaderLine[], body: textOfBytes(body) };
}

/** Noted in the audit before anything is shown: where it cannot be noted, nothing is. */
export async function revealKey(asked: Asked): Promise<RevealAnswer> {
  const body = await asked.body("reason", "fence");
  const { reason } = body;
  const record = await seenRecord(asked, body);
  const { identity, fence, response, interim } = record;
  const { store } = asked.parts;
  await store.note({ identity, fence, actor: asked.user.user, action: "reveal", reason });
  const [steps, attempts] = await Promise.all([store.steps(identity), store.attempts(identity)]);
  return {
    key: identity.key,
    tenant: identity.tenant,
    principal: identity.principal,
    holdReason: record.holdReason,
    answer: response && answerView(response),
    interim: interim && answerView(interim),
    steps: steps.map(({ name, result }) => ({ name, result: result && textOfBytes(result) })),
    askedBy: [...new Set(attempts.flatMap(({ askedBy }) => askedBy ?? []))],
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function adoptedAnswer(body: Body): AnswerLike {
  const answer = body.object("answer", ["status", "headers", "body"]);
  const status = answer.whole("status", 200, 599);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.texts("headers", headersMax))) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[\0\r\n]/.test(value))
      throw new Problem("body", "headers: expected names and values of header lines", { parameter: "headers" });
    headers[name.toLowerCase()] = value;
  }
  if (!answer.has("body")) return { status, headers };
  const text = answer.text("body");
  headers["content-type"] ??= isJson(text) ? "application/json" : "text/plain; charset=utf-8";
  return { status, headers, body: new TextEncoder().encode(text) };
}

function decisionOf(body: Body): Settlement["decision"] {
  const kind = body.oneOf("decision", ["adopt", "release", "hold"]);
  if (kind === "adopt") return { kind, answer: adoptedAnswer(body) };
  if (body.has("answer")) throw new Problem("body", "answer: only adopt has one", { parameter: "answer" });
  return { kind };
}

/** A release runs it again: somebody must know that nothing happened. No word of a person stands against the provider's. */
async function askFirst({ parts }: Asked, record: StoredRecord, isChecked: boolean): Promise<void> {
  const check = await parts.probeGate(() => nothingHappened(parts.store, record, parts.engine.probes ?? {}));
  if (check.outcome === "done") throw new Problem("refused", check.says);
  if (check.outcome !== "nothing" && !isChecked) throw new Problem("unchecked", check.says);
}

function refusedBy(error: unknown): never {
  throw storeProblem(error);
}

/** Like what is looked at, decisions wait for one of the console's few places at the store. */
export async function settleKey(asked: Asked): Promise<WrittenAnswer> {
  const body = await asked.body("reason", "fence", "updatedAt", "decision", "answer", "checkedProvider");
  const { reason, fence } = body;
  const decision = decisionOf(body);
  const isChecked = body.boolean("checkedProvider", false);
  const record = await seenRecord(asked, body);
  seenHold(asked, body, record);
  if (decision.kind === "release") await askFirst(asked, record, isChecked);
  const request: Settlement = { record, fence, decision, actor: asked.user.user, reason };
  const { parts } = asked;
  const result = await parts.gate(() => settle(parts.engine, request)).catch(refusedBy);
  if (result === "ok") return written(asked, decision.kind);
  const now = await recordNamed(asked);
  if (result === "stale" || result === "absent") throw changed(asked, now);
  const why = result === "live" ? "an owner is at work; wait for its answer" : "it has its answer already";
  throw new Problem("refused", why, present(asked, now));
}

const leftWhy = {
  live: "an owner is at work; wait for its answer",
  unknown: "its outcome is unknown: settle it first",
} as const;

export async function forgetKey(asked: Asked): Promise<WrittenAnswer> {
  const body = await asked.body("reason", "fence");
  const { reason, fence } = body;
  const record = { ...(await seenRecord(asked, body)), fence };
  const { parts, user } = asked;
  const report = await parts.gate(() => forget(parts.engine, { record, actor: user.user, reason })).catch(refusedBy);
  if (report.forgotten === 1) return written(asked, "forget");
  const now = await recordNamed(asked);
  if (report.already === 1) throw new Problem("refused", "it was forgotten before", present(asked, now));
  const why = report.left[0]?.why ?? "stale";
  if (why === "stale" || why === "absent") throw changed(asked, now);
  throw new Problem("refused", leftWhy[why], present(asked, now));
}
