/** What the judgement of requests sees, one fault of a middleware at a time. */
import { describe, expect, test } from "vitest";
import type { Callers } from "../../chaos/callers.ts";
import { History } from "../../chaos/history.ts";
import { judge } from "../../chaos/judgement.ts";
import { intentOf, operationOf, type Policy } from "../../chaos/policies.ts";
import { settleAll } from "../../chaos/settling.ts";
import type { Answer } from "../../chaos/wire.ts";
import type { Charge } from "../../packages/ichido/src/testing/fake-provider.ts";

const caller = "ann";
const charge = (amount: number, id: string): Charge => ({ id, reference: "r", amount, currency: "EUR", atMs: 0 });

function answer(intent: string, effect: string, made = "m1", headers: Answer["headers"] = {}): Answer {
  const text = JSON.stringify({ intent, caller, effect, made });
  return { status: 201, headers: { "x-made": made, ...headers }, text };
}

interface Case {
  readonly policy?: Policy;
  readonly answers?: readonly Answer[];
  /** Effects of the operation, by name. */
  readonly effects?: readonly string[];
  readonly unasked?: boolean;
  readonly state?: string;
  readonly isForgetful?: boolean;
}

const intent = intentOf(1);
const given = [answer(intent, "e1")];

/** One operation, told and judged; gives the names of what was violated. */
function seen(parts: Case): readonly string[] {
  const { policy = "commit", answers = given, effects = ["e1"], state = "completed" } = parts;
  const history = new History(parts.isForgetful);
  const order = { intent, amount: 1, beforeMs: 0, insideMs: 0, afterMs: 0, paddingBytes: 0 };
  const operation = history.begin({ number: 1, policy, caller, key: "key-1", order });
  for (const each of answers) history.note(operation, each);
  const isRow = policy === "commit";
  const rows = isRow ? effects.map((effect) => ({ intent, effect })) : [];
  const told = {
    rows: parts.unasked === true ? [...rows, { intent: intentOf(2), effect: "e9" }] : rows,
    records: [{ key: "key-1", caller, operation: operationOf(policy), state }],
  };
  judge(history, { told, charges: isRow ? [] : effects.map((id) => charge(1, id)) }, { hasRecords: true });
  return history.violations.map(({ invariant }) => invariant);
}

describe("I19 the judgement of requests", () => {
  test.each(["commit", "reference"] as const)(
    "finds nothing where %s took effect once and was answered so",
    (policy) => {
      expect(seen({ policy })).toEqual([]);
      expect(seen({ policy, answers: [...given, ...given] })).toEqual([]);
    },
  );

  const unstored = answer(intent, "e1", "m1", { "idempotency-stored": "false" });

  test.each<[string, Case, readonly string[]]>([
    ["a second row", { effects: ["e1", "e2"] }, ["effect-doubled"]],
    ["a second charge", { policy: "reference", effects: ["e1", "e2"] }, ["effect-doubled"]],
    ["an effect that is missing", { effects: [] }, ["effect-lost"]],
    [
      "an effect that is missing after an answer that was not stored",
      { effects: [], answers: [unstored] },
      ["effect-lost", "record-and-effect"],
    ],
    ["an answer that names another effect", { effects: ["e2"] }, ["record-and-effect"]],
    ["a row whose answer was never stored", { answers: [unstored] }, ["record-and-effect"]],
    ["an answer that was made anew", { answers: [...given, answer(intent, "e1", "m2")] }, ["answer-changed"]],
    ["an answer that is another's", { answers: [answer(intentOf(2), "e1")], effects: [] }, ["answer-foreign"]],
    [
      "a refusal of what was never asked for otherwise",
      { answers: [{ ...answer(intent, "e1"), status: 422 }] },
      ["reused-untrue"],
    ],
    ["a record that waits in the end", { state: "unknown" }, ["stuck"]],
    ["a record that is gone", { state: "absent" }, ["stuck"]],
    ["an effect that nobody asked for", { unasked: true }, ["effect-unasked"]],
  ])("sees %s", (_what, parts, invariants) => {
    expect(seen(parts)).toEqual(invariants);
  });

  test("sees other content that passed under a key that has its answer", () => {
    const history = new History();
    const order = { intent, amount: 1, beforeMs: 0, insideMs: 0, afterMs: 0, paddingBytes: 0 };
    const operation = history.begin({ number: 1, policy: "commit", caller, key: "key-1", order });
    history.noteMismatch(operation, { ...answer(intent, "e1"), status: 422 });
    expect(history.violations).toEqual([]);
    history.noteMismatch(operation, answer(intent, "e1"));
    expect(history.violations.map(({ invariant }) => invariant)).toEqual(["mismatch-passed"]);
  });

  test("sees an answer that can never be had again", async () => {
    const history = new History();
    const order = { intent, amount: 1, beforeMs: 0, insideMs: 0, afterMs: 0, paddingBytes: 0 };
    const operation = history.begin({ number: 1, policy: "commit", caller, key: "key-1", order });
    history.note(operation, answer(intent, "e1"));
    const callers = (isAnswered: boolean) => ({ insist: () => Promise.resolve(isAnswered) }) as unknown as Callers;
    await settleAll(history, callers(true));
    expect(history.violations).toEqual([]);
    await settleAll(history, callers(false));
    expect(history.violations.map(({ invariant }) => invariant)).toEqual(["answer-gone"]);
  });

  test("counts what a forgetful store made anew, and forgives it no second row", () => {
    const anew = [...given, answer(intent, "e2", "m2")];
    expect(seen({ isForgetful: true, policy: "reference", answers: anew, effects: ["e1", "e2"] })).toEqual([]);
    expect(seen({ isForgetful: true, effects: ["e1", "e2"] })).toEqual(["effect-doubled"]);
  });
});
