/** The reconciler, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

export const reconciler: readonly Mutant[] = [
  one(
    "a reconciler's failed verify counts as absent",
    "core/engine/reconciliation.ts",
    "return verify({ identity, attempt, reference, signal: abort.signal, ageMs, steps, labels });",
    `try {
          return await verify({ identity, attempt, reference, signal: abort.signal, ageMs, steps, labels });
        } catch {
          return { verdict: "absent" };
        }`,
  ),
  one(
    "a reconciler releases what it cannot tell",
    "core/engine/reconciliation.ts",
    'if (answer.verdict === "absent") {',
    'if (answer.verdict !== "found") {',
  ),
  one(
    "a reconciler settles on whatever fence there is",
    "core/engine/reconciliation.ts",
    "        fence: claim.fence,\n        decision",
    "        fence: (await calls.find(identity))?.fence ?? claim.fence,\n        decision",
  ),
  one(
    "a reconciler takes a claim sent again for a new one",
    "core/engine/reconciliation.ts",
    "if (isInDoubt(grant)) return",
    "if (isInDoubt(grant) && grant.resent !== true) return",
  ),
  one(
    "a reconciler goes before what its process has to say",
    "core/engine/reconciliation.ts",
    'if (!(await calls.writeOwn(identity))) return "overtaken";',
    "",
  ),
  one(
    "a reconciler's decision stands above a person's hold",
    "core/engine/reconciliation.ts",
    "        unlessHeld: true,\n",
    "",
  ),
  one(
    "a reconciler gives up before its time",
    "core/engine/reconciliation.ts",
    "if (ageMs >= patienceMs) {",
    "if (2 * ageMs >= patienceMs) {",
  ),
  one(
    "a reconciler does not leave a doubt to its callers first",
    "core/engine/next-looks.ts",
    "if (lapsedMs >= olderThanMs) return true;",
    "if (lapsedMs >= 0) return true;",
  ),
];
