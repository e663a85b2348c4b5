/** The rules that are undone, one by one. */
import type { Edit, Mutant } from "./mutant.ts";

const one = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  edits: [{ file, find, replace } satisfies Edit],
});

const rules = "stores/memory/transitions.ts";
const row = "stores/memory/row.ts";

/** The rules of a record. */
const record: readonly Mutant[] = [
  one(
    "fence not compared",
    rules,
    "row.owner === proof.owner && row.fence === proof.fence",
    "row.owner === proof.owner",
  ),
  one("neither owner nor fence compared", rules, " && row.owner === proof.owner && row.fence === proof.fence", ""),
  one("any owner gets the record back as its own", rules, "if (row.owner === request.owner && (live", "if ((live"),
  one(
    "unfenced completion",
    rules,
    "  return owned(row, request, (held) => answered(held, request.response, moment));",
    '  return row === undefined ? { row, result: "stale" } : { row: answered(row, request.response, moment), result: "ok" };',
  ),
  one(
    "a takeover keeps the fence",
    rules,
    "fence: nextFence(row, moment), attempts: row.attempts + 1",
    "fence: row.fence, attempts: row.attempts + 1",
  ),
  one(
    "the fence follows the clock alone",
    rules,
    "return Math.max((row?.fence ?? 0) + 1, moment.fenceFloor + 1, Math.floor(moment.nowMs * 1_000));",
    "void row;\n  return Math.floor(moment.nowMs * 1_000);",
  ),
  one(
    "a completed record can be taken",
    rules,
    'if (row.state === "completed") return { row, result: completed(row, moment.nowMs) };',
    "",
  ),
  one(
    "another content is not refused",
    rules,
    "if (!isSameRequest(row.fingerprint, asked)) return",
    "if (false as boolean) return",
  ),
  one("a lease is over too early", row, "leftMs > 0 &&", "leftMs > 200 &&"),
  one("settled on another fence", rules, 'if (row.fence !== request.fence) return { row, result: "stale" };', ""),
  one("settled under a living owner", rules, 'if (isLive(row, moment.nowMs)) return { row, result: "live" };', ""),
  one("an answer is settled again", rules, 'if (row.state === "completed") return { row, result: "completed" };', ""),
  one(
    "a hold by a person is no hold",
    rules,
    "leaseEndMs: undefined, holdReason: reason, updatedAtMs",
    "leaseEndMs: undefined, updatedAtMs",
  ),
  one(
    "suspending forgets the hold",
    rules,
    "holdReason: request.holdReason ?? held.holdReason",
    "holdReason: request.holdReason",
  ),
  one(
    "suspending forgets the interim answer",
    rules,
    "interim: request.interim === undefined ? held.interim : copyIn(request.interim)",
    "interim: undefined",
  ),
  one(
    "suspending keeps the lease",
    rules,
    "    ...held,\n    leaseEndMs: undefined,\n    interim",
    "    ...held,\n    interim",
  ),
  one(
    "a record expires under a living owner",
    row,
    " && !isNeeded(row) && !isLive(row, nowMs);",
    " && !isNeeded(row);",
  ),
  one(
    "a record expires too early",
    row,
    "return nowMs >= row.expiresAtMs && !isNeeded",
    "return nowMs >= row.expiresAtMs - 500 && !isNeeded",
  ),
  one(
    "a released record keeps its owner's claim",
    rules,
    'const holds = row?.state === "processing" &&',
    'const holds = row?.state !== "completed" && row !== undefined &&',
  ),
  one(
    "unfenced release",
    rules,
    "  return owned(row, request, (held) =>\n    held.holdReason === undefined",
    "  return owned(row, asOwner(row, request), (held) =>\n    held.holdReason === undefined",
  ),
  one(
    "unfenced suspension",
    rules,
    "return owned(row, request, (held) => ({\n    ...held,\n    leaseEndMs",
    "return owned(row, asOwner(row, request), (held) => ({\n    ...held,\n    leaseEndMs",
  ),
  one(
    "unfenced step start",
    rules,
    "  return owned(row, request, (held) => {\n    const begun = withStep(held, request.name, moment);\n    const start",
    "  return owned(row, asOwner(row, request), (held) => {\n    const begun = withStep(held, request.name, moment);\n    const start",
  ),
  one(
    "unfenced step result",
    rules,
    "  return owned(row, request, (held) => {\n    const begun = withStep(held, request.name, moment);\n    const result",
    "  return owned(row, asOwner(row, request), (held) => {\n    const begun = withStep(held, request.name, moment);\n    const result",
  ),
  one(
    "renewal after loss",
    rules,
    "  return owned(row, request, (held) => ({\n    ...stillLeased",
    "  return owned(row, asOwner(row, request), (held) => ({\n    ...stillLeased",
  ),
  one(
    "a lease further ahead than the longest counts as lapsed",
    row,
    "leftMs * 1_000 <= leaseAbsurdUs",
    "leftMs * 2_000 <= leaseAbsurdUs",
  ),
  one("an open step lets a record expire", row, "return row.steps.length > 0 || (row", "return (row"),
  one("a sealed record expires", row, "(row.doubtStays || isSealed(row))", "row.doubtStays"),
  one("a doubt ends by retention", row, "(row.doubtStays || isSealed(row))", "isSealed(row)"),
  one(
    "a doubt is noted at first sight only where a claim says so again",
    rules,
    "doubtStays: request.doubtStays === true,",
    "doubtStays: false,",
  ),
  one("a step keeps its first start alone", rules, "{ ...step, lastStartedAtMs: moment.nowMs }", "step"),
  one(
    "a claim sent again forgets how the record was come by",
    rules,
    "const { fence, attempts, origin, createdAtMs, expiresAtMs } = row;",
    'const { fence, attempts, createdAtMs, expiresAtMs } = row;\n  const origin = again.resent === true ? "new" : row.origin;',
  ),
  one(
    "a claim takes what has an interim answer",
    rules,
    'return request.takeover === "open" ?',
    'return request.takeover !== "none" ?',
  ),
  one(
    "a person's release leaves open steps",
    rules,
    "steps: row.steps.filter((step) => step.result !== undefined)",
    "steps: row.steps",
  ),
  one(
    "an owner's release ends a person's hold",
    rules,
    "held.holdReason === undefined ? failed(held, moment) : { ...held, leaseEndMs: undefined }",
    "failed(held, moment)",
  ),
  one(
    "a policy settles what a person holds",
    rules,
    'if (request.unlessHeld === true && row.holdReason !== undefined) return { row, result: "stale" };',
    "",
  ),
];

/** The policy of a request. */
const engine: readonly Mutant[] = [
  one(
    "release for suspend, when nothing is known",
    "core/execution.ts",
    'await writeDown("suspend", () => calls.suspend({ ...claim, ...hold }));\n    return sendAsIs;',
    'await writeDown("release", () => calls.release(claim));\n    void hold;\n    return sendAsIs;',
  ),
  one(
    "a handler starts on a lease that is over",
    "core/engine.ts",
    "if (!execution.isTrusted()) {",
    "if (false as boolean) {",
  ),
  one("a lease is trusted for too long", "core/heartbeat.ts", "const trustedShare = 0.8;", "const trustedShare = 1.6;"),
  one(
    "a renewal counts from its answer",
    "core/heartbeat.ts",
    'if (answers[index] === "ok") claim.confirmedMs = sentMs;',
    'if (answers[index] === "ok") claim.confirmedMs = environment.monotonicMs();',
  ),
  one(
    "a claim counts from its answer",
    "core/execution.ts",
    "    confirmedMs: parts.claimedMs,",
    "    confirmedMs: parts.startedMs,",
  ),
  one(
    "a stale completion is sent as if stored",
    "core/execution.ts",
    'if (result === "stale") return route.enforce ? { kind: "replace", response: await parts.truth() } : sendAsIs;',
    "",
  ),
  one(
    "an answer that was not stored does not say so",
    "core/execution.ts",
    'return result === "failed" && route.enforce ? notStored : sendAsIs;',
    "return sendAsIs;",
  ),
  one(
    "hold takes over lapsed records",
    "core/engine.ts",
    'takeover: route.onUnknown === "hold" ? "none" : "lapsed"',
    'takeover: "lapsed"',
  ),
  one(
    "not visible yet counts as absent",
    "core/recovery.ts",
    'if (answer.verdict === "absent") return { kind: "run" };',
    'if (answer.verdict !== "found") return { kind: "run" };',
  ),
  one(
    "a verify that fails counts as absent",
    "core/recovery.ts",
    'answer = { verdict: "not-visible-yet" };',
    'answer = { verdict: "absent" };',
  ),
  one(
    "an adopted answer is believed although it was not stored",
    "core/recovery.ts",
    '(await execution.adopt(response)) === "ok" ? { kind: "found", response } : { kind: "lost" }',
    '(await execution.adopt(response), { kind: "found", response })',
  ),
  one(
    "references differ by attempt",
    "core/execution.ts",
    "referenceOf(identity, grant.canonical, name);",
    "referenceOf(identity, grant.canonical, `${name}${grant.attempt}`);",
  ),
  one(
    "a finished step is made again",
    "core/steps.ts",
    'if (step?.state === "finished") return',
    'if (step?.state === ("never" as string)) return',
  ),
  one(
    "a held step is called again",
    "core/steps.ts",
    'if (policy === "hold") {',
    'if (policy === ("never" as string)) {',
  ),
  one(
    "a step's failed verify counts as absent",
    "core/steps.ts",
    '({ verdict: "not-visible-yet" }) as const',
    '({ verdict: "absent" }) as const',
  ),
  one(
    "absent is believed at once",
    "core/provider-profiles.ts",
    "request.ageMs < profile.visibleAfterMs",
    "request.ageMs < 0",
  ),
  one(
    "a stale step goes on",
    "core/steps.ts",
    'if (answer === "stale") throw',
    'if (answer === ("never" as string)) throw',
  ),
  one(
    "steps of former attempts are not read",
    "core/steps.ts",
    "if (parts.stepsStarted === 0) return new Map();",
    "if (parts.stepsStarted >= 0) return new Map();",
  ),
  one(
    "the replay cache does not compare contents",
    "core/replay-cache.ts",
    "if (!same) return undefined;",
    "void same;",
  ),
  one(
    "a waiter takes a grant that is not its own",
    "core/waiting.ts",
    'answer === undefined || (answer.outcome === "granted" && !mine)',
    "answer === undefined",
  ),
  one(
    "a server error is kept",
    "core/recorder.ts",
    "return status >= 500 ? profile.keepServerErrors : !releasingStatuses.has(status);",
    "void profile;\n  return !releasingStatuses.has(status);",
  ),
  one(
    "a refusal of the handler is kept",
    "core/recorder.ts",
    "return status >= 500 ? profile.keepServerErrors : !releasingStatuses.has(status);",
    "return status >= 500 ? profile.keepServerErrors : true;",
  ),
  one(
    "every failure of the store runs the handler",
    "core/decide.ts",
    'const unclaimed = error instanceof StoreFailure && error.verb === "claim";',
    "const unclaimed = true as boolean;",
  ),
  one(
    "closing gives nothing back",
    "core/engine.ts",
    "await Promise.all(left.map((each) => (each.started ? each.handOver() : each.giveBack())));",
    "void left;",
  ),
  one(
    "a stale transaction commits",
    "core/commit.ts",
    'if (result === "stale") throw new FenceLost',
    'if (result === ("never" as string)) throw new FenceLost',
  ),
  one(
    "the answer is stored beside the transaction",
    "core/commit.ts",
    "parts.calls.complete(completion(response), handle)",
    "(void handle, parts.calls.complete(completion(response)))",
  ),
  one(
    "release for suspend, given back late",
    "core/store-calls.ts",
    "const inDoubt = isInDoubt(result);",
    "const inDoubt = false as boolean;",
  ),
  one(
    "release for suspend, given back",
    "core/execution.ts",
    "const inDoubt = isInDoubt(grant);",
    "const inDoubt = false as boolean;",
  ),
  one(
    "a failed outcome is not tried again",
    "core/execution.ts",
    "    late = parts.lateWrites.add({",
    '    if (operation !== "") return;\n    late = parts.lateWrites.add({',
  ),
  one(
    "verify is not asked",
    "core/engine.ts",
    "if (isInDoubt(grant)) {",
    "if (isInDoubt(grant) && grant.attempt < 0) {",
  ),
  one(
    "verify is asked of vanished owners only once the claim was not sent again",
    "core/engine.ts",
    "if (isInDoubt(grant)) {",
    "if (isInDoubt(grant) && grant.resent !== true) {",
  ),
  one(
    "a step that is not visible yet is called again",
    "core/steps.ts",
    'if (verdict.verdict !== "absent") throw',
    'if (verdict.verdict === ("never" as string)) throw',
  ),
  one("a step calls out on a lease that is over", "core/steps.ts", "stopUnlessTrusted(notedMs);", "void notedMs;"),
  one(
    "a throw is released under hold and verify",
    "core/execution.ts",
    'if (route.onUnknown === "rerun" && steps?.unfinished !== true) return release();',
    "if (steps?.unfinished !== true) return release();",
  ),
  one(
    "an open step is released",
    "core/execution.ts",
    'if (route.onUnknown === "rerun" && steps?.unfinished !== true) return release();',
    'if (route.onUnknown === "rerun") return release();',
  ),
  one(
    "a lost lease that nobody took is told as final",
    "core/engine.ts",
    "return isFinal ? refusals.unknown",
    "return isFinal || !isUndone ? refusals.unknown",
  ),
  one(
    "closing does not wait for claims under way",
    "core/engine.ts",
    "while (executions.size > 0 || background.size > 0) {",
    "while (executions.size > 0) {",
  ),
  one(
    "a known duplicate runs without the store",
    "core/engine.ts",
    "if (error instanceof StoreFailure) return stillProcessing;",
    "",
  ),
  one(
    "a retention may be shorter than a doubt",
    "core/engine.ts",
    'doubtStays: route.onUnknown !== "rerun",',
    "doubtStays: false,",
  ),
  one("a commit that cannot be told counts as undone", "core/lost-commit.ts", 'return "open";', 'return "not-landed";'),
  one(
    "a landed commit counts as undone",
    "core/lost-commit.ts",
    'if (landed !== "busy") return landed;',
    'if (landed !== "busy") return landed === "committed" ? "not-landed" : landed;',
  ),
];

/** The reconciler. */
const reconciler: readonly Mutant[] = [
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
    "a reconciler goes on although overtaken",
    "core/reconciler.ts",
    'if ((await store.suspend(claim)) === "stale") return "overtaken";',
    "await store.suspend(claim);",
  ),
  one(
    "a reconciler takes records on hold",
    "core/reconciler.ts",
    "if (record.holdReason !== undefined) return false;",
    "",
  ),
  one(
    "a reconciler settles on whatever fence there is",
    "core/reconciler.ts",
    "        fence: claim.fence,\n        decision",
    "        fence: (await store.find(identity))?.fence ?? claim.fence,\n        decision",
  ),
];

/** The client. */
const client: readonly Mutant[] = [
  one(
    "what is done is forgotten",
    "client/attempt.ts",
    'const isKept = outcome === "done" && rememberMs > 0;',
    "const isKept = false as boolean;",
  ),
  one(
    "a key for every try",
    "client/client.ts",
    "headers.set(...parts.headerOf(sending.attempt.key));",
    "headers.set(...parts.headerOf(`${sending.attempt.key.slice(0, 24)}${Math.floor(Math.random() * 1e12)}`.slice(0, 36)));",
  ),
  one(
    "an unknown outcome ends the attempt",
    "client/delivery.ts",
    'if (meaning === "open") return unknown("server");',
    'if (meaning === "open") {\n        await attempts.settle(attempt);\n        return unknown("server");\n      }',
  ),
  one(
    "a server error is an answer",
    "client/retry-policy.ts",
    'if (status < 400) return "done";',
    'if (status < 400 || status >= 500) return "done";',
  ),
];

/** Lets anybody pass for the owner. */
const helper: Edit = {
  file: rules,
  find: "function owned(",
  replace:
    "function asOwner<Request extends Claim>(row: Row | undefined, request: Request): Request {\n" +
    "  return row === undefined ? request : { ...request, owner: row.owner, fence: row.fence };\n}\n\nfunction owned(",
};

function complete(mutant: Mutant): Mutant {
  const needsHelper = mutant.edits.some(({ replace }) => replace.includes("asOwner("));
  return needsHelper ? { ...mutant, edits: [helper, ...mutant.edits] } : mutant;
}

export const mutants: readonly Mutant[] = [...record, ...engine, ...reconciler, ...client].map(complete);
