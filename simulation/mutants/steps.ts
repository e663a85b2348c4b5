/** Steps that are tried again, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

const inPlace: readonly Mutant[] = [
  one(
    "a step tried again in place is as good as new",
    "core/engine/steps.ts",
    "const started = starts.get(name);",
    'const started = starts.get(step === undefined ? "" : name);',
  ),
  one(
    "a step tried again in place counts its age from its first start",
    "core/engine/steps.ts",
    "const ageMs = Math.round(nowMs - started.lastMs);",
    "const ageMs = Math.round(nowMs - started.firstMs);",
  ),
  one(
    "a route that verifies is not asked before a step is tried again in place",
    "core/engine/steps.ts",
    'if (!isAsked && policyOf(options) === "rerun") {',
    'if (!isAsked && policyOf(options) === "hold") {',
  ),
  one(
    "a result that the store may not have is forgotten",
    "core/engine/steps.ts",
    "    unheard.set(name, value);\n",
    "",
  ),
  one("a former attempt's step keeps the age it had", "core/engine/steps.ts", "          steps.delete(name);\n", ""),
  one(
    "a step is called although its attempt was told to stop",
    "core/engine/lease-attempt.ts",
    "return this.stoppedBy === undefined && !isOver && isTrusted(",
    "return isTrusted(",
  ),
  one(
    "a step tells its handler to stop, and the signal does not",
    "core/engine/lease-attempt.ts",
    "      if (error instanceof FenceLost || error instanceof OutcomeOpen) this.stop(error);\n",
    "",
  ),
];

const memories: readonly Mutant[] = [
  one(
    "a step is made again although its provider forgets its reference",
    "core/engine/steps.ts",
    "step.firstAgeMs >= options.retentionMs",
    "step.firstAgeMs < 0",
  ),
  one(
    "a provider's memory counts from the last start",
    "core/engine/steps.ts",
    "step.firstAgeMs >= options.retentionMs",
    "step.ageMs >= options.retentionMs",
  ),
  one(
    "a provider is relied on for longer than it remembers",
    "core/contract/provider-profiles.ts",
    "const reliedOn = 0.9;",
    "const reliedOn = 9;",
  ),
];

export const stepMutants: readonly Mutant[] = [...inPlace, ...memories];
