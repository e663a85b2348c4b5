/** What an attempt says of itself last is its only word: judged where it is sent, whatever becomes of it on the way. */
import type { Claim } from "../packages/ichido/src/core/contract/store.ts";
import type { Machine } from "./machine.ts";
import type { World } from "./world.ts";

export type LastWord = "complete" | "release" | "suspend";

/**
 * `isHeard`: what was sent last has been answered.
 *
 * A handler that came to its end is not left open any more, nor is its key given back where it has answered: not by
 * what still runs of it either. What was left open while it ran gets no answer from it, and what it gave back none at
 * all. Who closes hands over what it has once its words are heard, and of a handler past its time what was lost is
 * given back: there the store refuses what comes too late.
 */
export function judgeLastWord(
  world: World,
  machine: Machine,
  { verb, isHeard }: { readonly verb: LastWord; readonly isHeard: boolean },
  [{ identity, fence }, transaction]: readonly [Claim, ...unknown[]],
): void {
  const { id, completed } = world.seenOf(identity);
  const run = world.runs.find((each) => each.id === id && each.fence === fence && each.machine === machine);
  if (run === undefined || world.nowMs - run.startedMs >= world.plan.executionMs) return;
  const { kept, hasGivenBack, isLeft, endedMs, branches } = run;
  if (verb === "suspend" && endedMs === undefined) run.isLeft = true;
  if (machine.isClosing && isHeard) return;
  // What the store has cannot be taken back: whoever looked for a copy a moment before that is refused.
  const isLook = completed.has(fence) && branches === 0;
  // What was handed over at work is handed over again where that was not heard, whatever its handler says by then.
  const isSentAgain = isLeft && machine.isClosing && verb === "suspend";
  if (kept !== undefined && verb !== "complete" && !isLook && !isSentAgain) {
    world.violate("answer-taken-back", `${id}: ${machine.name} has answered, and sends ${verb}`);
  }
  if (machine.isClosing) return;
  if (isLeft && verb === "complete" && transaction === undefined) {
    world.violate("answered-after-leaving", `${id}: ${machine.name} has left it open, and sends an answer`);
  }
  if (hasGivenBack && verb !== "release") {
    world.violate("release-void", `${id}: ${machine.name} has given it back, and sends ${verb}`);
  }
}
