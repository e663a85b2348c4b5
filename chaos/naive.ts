/**
 * The control: a middleware as it is often written. It looks for an answer, runs the handler if there is none, and keeps
 * the answer then; nothing is claimed before. What it does to the effects must be seen by the judgement.
 */
import { createHash } from "node:crypto";
import type { AnswerLike, StepOptions } from "../packages/ichido/src/core/contract/options.ts";
import type { StepFunction } from "../packages/ichido/src/core/contract/context.ts";
import type { TransactionHandle } from "../packages/ichido/src/core/contract/transaction.ts";
import type { Order, Policy } from "./policies.ts";
import type { Setup } from "./setup.ts";
import type { Side } from "./sides/side.ts";
import { work, type Doing } from "./work.ts";

interface Kept {
  readonly order: string;
  readonly answer: AnswerLike;
}

function doing(side: Side, name: string, keep: (answer: AnswerLike) => Promise<void>): Doing {
  const reference = createHash("sha256").update(name).digest("hex").slice(0, 40);
  const { signal } = new AbortController();
  const body = {
    step: async <Value>(
      _step: string,
      first: StepOptions<Value> | StepFunction<Value>,
      second?: StepFunction<Value>,
    ) => {
      const fn = typeof first === "function" ? first : second;
      if (fn === undefined) throw new TypeError("a step needs a function");
      return fn({ reference, signal });
    },
    transaction: async (fn: (tx: unknown, handle: TransactionHandle) => Promise<AnswerLike>) => {
      if (side.runner === undefined) throw new TypeError("this store has no transactions");
      const answer = await side.runner.run(fn);
      await keep(answer);
      return answer;
    },
  };
  return body as unknown as Doing;
}

export interface Asking {
  readonly policy: Policy;
  readonly caller: string;
  readonly key: string;
  readonly order: Order;
}

export async function answerNaively(
  side: Side,
  setup: Setup,
  { policy, caller, key, order }: Asking,
): Promise<AnswerLike> {
  const name = `${caller} ${policy} ${key}`;
  const content = JSON.stringify(order);
  const before = await side.notes.read(name);
  if (before !== undefined) {
    const kept = JSON.parse(before) as Kept;
    if (kept.order !== content) return { status: 422, body: { code: "idempotency-key-reused" } };
    return { ...kept.answer, headers: { ...kept.answer.headers, "idempotency-replayed": "true" } };
  }
  let made: AnswerLike | undefined;
  const keep = async (answer: AnswerLike): Promise<void> => {
    made = answer;
    await side.notes.write(name, JSON.stringify({ order: content, answer } satisfies Kept));
  };
  const answer = await work(policy, doing(side, name, keep), order, { ...setup, caller });
  if (answer !== undefined) await keep(answer);
  return made ?? { status: 500 };
}
