/** After the last fault: everything again that has no answer, then everything once more. */
import type { Callers } from "./callers.ts";
import type { History, Operation } from "./history.ts";

/**
 * Every key comes to its answer. Nobody gets on when no key has come to one for a minute in which servers gave this many
 * answers: by that a busy machine, where servers are slow to give any, is no fault. In all it takes ten minutes at most.
 */
const standstillMs = 60_000;
const answersMin = 500;
const settleMsMax = 600_000;
/** Not all at once: a crowd would be one more fault. */
const askedAtOnce = 24;

async function sideBySide(all: readonly Operation[], work: (operation: Operation) => Promise<unknown>): Promise<void> {
  const left = [...all];
  const next = async (): Promise<void> => {
    for (let operation = left.pop(); operation !== undefined; operation = left.pop()) await work(operation);
  };
  await Promise.all(Array.from({ length: askedAtOnce }, next));
}

interface Insisted {
  readonly ms: number;
  readonly unanswered: readonly Operation[];
}

/** Asks for all of them until each has a final answer, or nothing gets on. */
async function insistOnAll(history: History, callers: Callers, all: readonly Operation[]): Promise<Insisted> {
  const beganMs = performance.now();
  let lastMs = beganMs;
  let lastAnswers = history.answers;
  const unanswered: Operation[] = [];
  const isOver = (): boolean => {
    const nowMs = performance.now();
    const standsStill = nowMs - lastMs > standstillMs && history.answers - lastAnswers >= answersMin;
    return standsStill || nowMs - beganMs > settleMsMax;
  };
  await sideBySide(all, async (operation) => {
    if (!(await callers.insist(operation, isOver, true))) {
      unanswered.push(operation);
      return;
    }
    lastMs = performance.now();
    lastAnswers = history.answers;
  });
  return { ms: performance.now() - beganMs, unanswered };
}

/** Tells how long it took until every key had its answer. What is answered once more must be what was answered before. */
export async function settleAll(history: History, callers: Callers): Promise<number> {
  const open = history.operations.filter(({ answer }) => answer === undefined);
  const { ms: settledMs } = await insistOnAll(history, callers, open);
  for (const { answer, policy, order, last } of history.operations) {
    if (answer === undefined)
      history.violate("stuck", `${policy} ${order.intent}: still ${last} after ${Math.round(settledMs)} ms`);
  }
  const answered = history.operations.filter(({ answer }) => answer !== undefined);
  const { unanswered } = await insistOnAll(history, callers, answered);
  for (const { policy, order, last } of unanswered) {
    history.violate("answer-gone", `${policy} ${order.intent}: it was answered, and is ${last} now`);
  }
  return settledMs;
}
