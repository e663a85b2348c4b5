/** The reconciler, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

export const reconciler: readonly Mutant[] = [
  one(
    "a reconciler's failed verify counts as absent",
    "core/reconciler.ts",
    'return { verdict: "not-visible-yet" };',
    'return { verdict: "absent" };',
  ),
  one(
    "a reconciler releases what it cannot tell",
    "core/reconciler.ts",
    'if (answer.verdict === "absent") {',
    'if (answer.verdict !== "found") {',
  ),
  one(
    "a reconciler settles on whatever fence there is",
    "core/reconciler.ts",
    "        fence: claim.fence,\n        decision",
    "        fence: (await store.find(identity))?.fence ?? claim.fence,\n        decision",
  ),
  one(
    "a reconciler takes a claim sent again for a new one",
    "core/reconciler.ts",
    "if (!isInDoubt(grant)) {",
    "if (!isInDoubt(grant) || grant.resent === true) {",
  ),
  one("a reconciler's decision stands above a person's hold", "core/reconciler.ts", "        unlessHeld: true,\n", ""),
];
