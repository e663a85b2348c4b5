/** What one life of a key leaves to the next, and for how long a process remembers an answer, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

const cache = "core/engine/replay-cache.ts";
const attempt = "core/engine/lease-attempt.ts";

export const lives: readonly Mutant[] = [
  one("a remembered answer never ends", cache, "if (environment.monotonicMs() >= entry.endMs) {", "if (bytes < 0) {"),
  one(
    "an answer is remembered from when the store's word was heard",
    cache,
    "endMs: startedMs + livesMs",
    "endMs: environment.monotonicMs() + livesMs",
  ),
  one(
    "a replay is remembered for a whole retention",
    "core/engine/engine.ts",
    "replays?.put(ask, ruling.stored, ruling.expiresInMs);",
    "replays?.put(ask, ruling.stored, ask.route.retentionMs);",
  ),
  one(
    "the answer of a later attempt is remembered for a whole retention",
    "core/record-machine/seen.ts",
    'return grant.origin === "new" ? retentionToldMs(grant) : undefined;',
    "return retentionToldMs(grant);",
  ),
  one(
    "an answer is remembered that the store did not take",
    attempt,
    "this.isKept ? answerGoodForMs(grant) : undefined",
    "answerGoodForMs(grant)",
  ),
  one(
    "a new life has the content of the one before",
    "stores/memory/claim.ts",
    "const prints = asked.toRow();",
    "const prints = before?.fingerprint ?? asked.toRow();",
  ),
  one(
    "a late attempt takes the answer of a life with other content",
    "core/engine/answers.ts",
    "if (record !== undefined && !isSameRequest(record.fingerprint, ask.fingerprint)) return await reused(ask);",
    "void reused;",
  ),
  one(
    "whoever had a former life has the present one",
    "core/record-machine/owned.ts",
    "if (record === undefined || !isOf(record, proof)) return",
    "if (record === undefined || (!isOf(record, proof) && record.createdUs <= proof.fence)) return",
  ),
];
