/** Branches of handlers, keys given back, streams, and words that cross: undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

const attempt = "core/engine/lease-attempt.ts";

const branches: readonly Mutant[] = [
  one(
    "what runs of a handler after its answer takes that back",
    attempt,
    "      if (this.#settling !== undefined) throw error;\n",
    "",
  ),
  one(
    "an answer does not wait for what a branch leaves open",
    attempt,
    "const isPlain = this.#commit === undefined && this.#leaving === undefined;",
    "const isPlain = this.#commit === undefined;",
  ),
  one(
    "a step that ends takes the doubt of the one beside it",
    "core/engine/steps.ts",
    "    open.delete(name);\n",
    "    open.clear();\n",
  ),
  one(
    "a step under way is made a second time",
    "core/engine/steps.ts",
    "if (running.has(name) || finished.has(name)) {",
    "if (finished.has(name)) {",
  ),
  one(
    "a branch calls out although its attempt has given its key back",
    attempt,
    "  async #release(): Promise<Settled> {\n    this.#isGivenAway = true;\n",
    "  async #release(): Promise<Settled> {\n",
  ),
  one(
    "a branch calls out while ctx.unknown leaves its attempt open",
    attempt,
    "    const response = answerOf(made);\n    this.#isGivenAway = true;\n",
    "    const response = answerOf(made);\n",
  ),
];

const released: readonly Mutant[] = [
  one("ctx.release is not heeded", attempt, "if (this.isReleased) return this.#release();", ""),
  one(
    "ctx.release is not heeded where the handler throws",
    attempt,
    "if (this.isReleased) return this.#release();",
    'if (this.isReleased && outcome.kind === "answered") return this.#release();',
  ),
  one(
    "a stream is remembered although its key was given back",
    attempt,
    "const keeps = !this.isReleased && verdictOn(",
    "const keeps = verdictOn(",
  ),
];

const streams: readonly Mutant[] = [
  one(
    "of a stream an empty answer is kept",
    attempt,
    "return this.#keep(this.signed(tombstoneOf(head)));",
    "return this.#keep(this.keptOf({ ...head, body: empty }));",
  ),
  one(
    "a stream begins before it is remembered",
    attempt,
    "return this.#keep(this.signed(tombstoneOf(head)));",
    "void this.#keep(this.signed(tombstoneOf(head)));\n        return sendAsIs;",
  ),
];

const crossings: readonly Mutant[] = [
  one(
    "closing overtakes an answer on its way",
    attempt,
    "const isHeard = await this.#writer.heard();",
    "const isHeard = true as boolean;",
  ),
  one(
    "an overtaken outcome takes the place of the later one",
    "core/engine/late-writes.ts",
    'if (former !== undefined && cameLater(former, outcome)) return "overtaken";',
    "",
  ),
  one(
    "a handler starts on a lease that was over when it was told of",
    "core/engine/lease-mode.ts",
    "faults === undefined && attempt.isTrusted();",
    "faults === undefined;",
  ),
];

export const branchMutants: readonly Mutant[] = [...branches, ...released, ...streams, ...crossings];
