/** The policy of a request, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

export const engine: readonly Mutant[] = [
  one(
    "release for suspend, when nothing is known",
    "core/engine/lease-attempt.ts",
    'return this.#suspend(onUnknown === "hold" ? holdReason : undefined);',
    "void holdReason;\n    return this.#release();",
  ),
  one(
    "a handler starts on a lease that is over",
    "core/engine/lease-mode.ts",
    "if (!attempt.isTrusted() || !running.isLatest(attempt)) {",
    "if (!running.isLatest(attempt)) {",
  ),
  one(
    "a lease is trusted for too long",
    "core/engine/heartbeat.ts",
    "const trustedShare = 0.8;",
    "const trustedShare = 1.6;",
  ),
  one(
    "a renewal counts from its answer",
    "core/engine/heartbeat.ts",
    'if (answer === "ok" || (answer === "locked" && isHeld)) claim.confirmedMs = sentMs;',
    'if (answer === "ok" || (answer === "locked" && isHeld)) claim.confirmedMs = environment.monotonicMs();',
  ),
  one(
    "a claim counts from its answer",
    "core/engine/lease-attempt.ts",
    "      confirmedMs: claimedMs,",
    "      confirmedMs: startedMs,",
  ),
  one(
    "a stale completion is sent as if stored",
    "core/engine/lease-attempt.ts",
    'if (!ask.route.enforce || result === "ok") return sendAsIs;',
    'if (!ask.route.enforce || result !== "failed") return sendAsIs;',
  ),
  one(
    "an answer that was not stored does not say so",
    "core/engine/lease-attempt.ts",
    'return result === "failed" ? notStored : {',
    'return result === "failed" ? sendAsIs : {',
  ),
  one(
    "hold takes over lapsed records",
    "core/engine/ruling.ts",
    'takeover: route.onUnknown === "hold" ? "none" : "lapsed"',
    'takeover: "lapsed"',
  ),
  one(
    "not visible yet counts as absent",
    "core/engine/doubt.ts",
    'if (answer.verdict === "absent") return { kind: "run" };',
    'if (answer.verdict !== "found") return { kind: "run" };',
  ),
  one(
    "a verify that fails counts as absent",
    "core/engine/doubt.ts",
    'message, error });\n    return { verdict: "not-visible-yet" };',
    'message, error });\n    return { verdict: "absent" };',
  ),
  one(
    "an adopted answer is believed although it was not stored",
    "core/engine/lease-mode.ts",
    'const isStored = (await attempt.adopt(recovered.response)) === "ok";',
    'const isStored = (await attempt.adopt(recovered.response)) !== ("never" as string);',
  ),
  one(
    "references differ by attempt",
    "core/engine/attempt.ts",
    "referenceOf(this.ask.identity, this.grant.canonical, name);",
    "referenceOf(this.ask.identity, this.grant.canonical, `${name}${this.grant.attempt}`);",
  ),
  one(
    "a finished step is made again",
    "core/engine/steps.ts",
    'if (step?.state === "finished") return',
    'if (step?.state === ("never" as string)) return',
  ),
  one(
    "a held step is called again",
    "core/engine/steps.ts",
    'if (policyOf(options) === "hold") {',
    'if (policyOf(options) === ("never" as string)) {',
  ),
  one(
    "a step's failed verify counts as absent",
    "core/engine/steps.ts",
    '({ verdict: "not-visible-yet" }) as const',
    '({ verdict: "absent" }) as const',
  ),
  one(
    "absent is believed at once",
    "core/contract/provider-profiles.ts",
    "request.ageMs < profile.visibleAfterMs",
    "request.ageMs < 0",
  ),
  one(
    "a stale step goes on",
    "core/engine/steps.ts",
    'if (answer === "stale") throw',
    'if (answer === ("never" as string)) throw',
  ),
  one(
    "steps of former attempts are not read",
    "core/engine/steps.ts",
    "if (grant.stepsStarted === 0) return new Map();",
    "if (grant.stepsStarted >= 0) return new Map();",
  ),
  one(
    "the replay cache does not compare contents",
    "core/engine/replay-cache.ts",
    "if (!isSameRequest(entry.fingerprint, fingerprint)) return undefined;",
    "void fingerprint;",
  ),
  one(
    "a waiter takes a grant that is not its own",
    "core/engine/waiting.ts",
    'answer === undefined || (answer.outcome === "granted" && !mine)',
    "answer === undefined",
  ),
  one(
    "who waits is grouped by key alone",
    "core/engine/waiting.ts",
    "const groupId = content + id;",
    "const groupId = content.slice(0, 0) + id;",
  ),
  one(
    "a server error is kept",
    "core/engine/recorder.ts",
    "return status >= 500 ? profile.keepServerErrors : !releasingStatuses.has(status);",
    "void profile;\n  return !releasingStatuses.has(status);",
  ),
  one(
    "a refusal of the handler is kept",
    "core/engine/recorder.ts",
    "return status >= 500 ? profile.keepServerErrors : !releasingStatuses.has(status);",
    "return status >= 500 ? profile.keepServerErrors : true;",
  ),
  one(
    "every failure of the store runs the handler",
    "core/engine/decide.ts",
    'const unclaimed = error instanceof StoreFailure && error.verb === "claim";',
    "const unclaimed = true as boolean;",
  ),
  one(
    "closing gives nothing back",
    "core/engine/running.ts",
    "await withDeadline(environment, handOverMs, end).catch(() => undefined);",
    "void end;",
  ),
  one(
    "a stale transaction commits",
    "core/engine/commit.ts",
    'if (result === "stale") throw new FenceLost',
    'if (result === ("never" as string)) throw new FenceLost',
  ),
  one(
    "the answer is stored beside the transaction",
    "core/engine/commit.ts",
    "calls.complete({ ...claim, response: attempt.keptOf(response), ...attempt.news }, handle)",
    "(void handle, calls.complete({ ...claim, response: attempt.keptOf(response), ...attempt.news }))",
  ),
  one(
    "release for suspend, given back late",
    "core/engine/store-calls.ts",
    "if (isInDoubt({ origin })) await",
    "if (isInDoubt({ origin }) && fence < 0) await",
  ),
  one(
    "a failed outcome is not tried again",
    "core/engine/outcome-writer.ts",
    'if (this.#stopped) return "failed";',
    'if (this.#stopped || write.length === 0) return "failed";',
  ),
  one(
    "verify is not asked",
    "core/engine/doubt.ts",
    'if (!isInDoubt(grant)) return { kind: "run" };',
    'if (!isInDoubt(grant) || grant.attempt > 0) return { kind: "run" };',
  ),
  one(
    "verify is asked of vanished owners only once the claim was not sent again",
    "core/engine/doubt.ts",
    'if (!isInDoubt(grant)) return { kind: "run" };',
    'if (!isInDoubt(grant) || grant.resent === true) return { kind: "run" };',
  ),
  one(
    "a step that is not visible yet is called again",
    "core/engine/steps.ts",
    'if (verdict.verdict !== "absent") throw',
    'if (verdict.verdict === ("never" as string)) throw',
  ),
  {
    name: "a step calls out on a lease that is over",
    edits: [
      { file: "core/engine/steps.ts", find: "stopUnlessTrusted(notedMs);", replace: "void notedMs;" },
      {
        file: "core/engine/steps.ts",
        find: "while (environment.monotonicMs() - notedMs > storeTimeoutMs) notedMs = await noteStart(request);",
        replace: "",
      },
    ],
  },
  one(
    "a throw is released under hold and verify",
    "core/engine/lease-attempt.ts",
    'if (onUnknown === "rerun" && this.#steps?.unfinished !== true) return this.#release();',
    "if (this.#steps?.unfinished !== true) return this.#release();",
  ),
  one(
    "an open step is released",
    "core/engine/lease-attempt.ts",
    'if (onUnknown === "rerun" && this.#steps?.unfinished !== true) return this.#release();',
    'if (onUnknown === "rerun") return this.#release();',
  ),
  one(
    "a lost lease that nobody took is told as final",
    "core/engine/answers.ts",
    "return await (isFinal ? unknown(ask",
    "return await (isFinal || !isUndone ? unknown(ask",
  ),
  {
    name: "closing does not wait for claims under way",
    edits: [
      {
        file: "core/engine/running.ts",
        find: "attempts.size + overtaken.size === 0 && rulings === 0",
        replace: "attempts.size + overtaken.size === 0",
      },
      { file: "core/engine/running.ts", find: "until(() => claims === 0)", replace: "until(() => true)" },
    ],
  },
  one(
    "a retention may be shorter than a doubt",
    "core/engine/ruling.ts",
    'doubtStays: route.onUnknown !== "rerun",',
    "doubtStays: false,",
  ),
  one(
    "a commit that cannot be told counts as undone",
    "core/engine/lost-commit.ts",
    'return "open";',
    'return "not-landed";',
  ),
  one(
    "a landed commit counts as undone",
    "core/engine/lost-commit.ts",
    'if (landed !== "busy") return landed;',
    'if (landed !== "busy") return landed === "committed" ? "not-landed" : landed;',
  ),
  one(
    "release for suspend, given back",
    "core/engine/lease-attempt.ts",
    "(isInDoubt(grant) ? calls.suspend(claim) : calls.release(claim))",
    "calls.release(claim)",
  ),
  one(
    "a known duplicate runs without the store",
    "core/engine/lease-mode.ts",
    "if (!(error instanceof StoreFailure)) throw error;\n      this.owner = this.#parts.newOwner();",
    "throw error;",
  ),
  one(
    "who waits asks on as the owner whose question may still be granted",
    "core/engine/lease-mode.ts",
    "      this.owner = this.#parts.newOwner();\n      return stillProcessing;",
    "      return stillProcessing;",
  ),
  one(
    "who was refused asks on as the owner of a copy that may still be granted",
    "core/engine/lease-mode.ts",
    "if (runsAnyhow) calls.giveBackLater(request);\n        this.owner = this.#parts.newOwner();",
    "if (runsAnyhow) calls.giveBackLater(request);",
  ),
  one(
    "the question about a lost commit is a claim",
    "core/engine/store-calls.ts",
    'landed: (request) => call("landed", () => store.landed(request)),',
    `landed: async (request) => {
      const record = await store.find(request.identity);
      if (record === undefined) return "lost";
      const terms = { leaseMs: 1_000, retentionMs: 60_000, takeover: "lapsed" } as const;
      const asking: ClaimRequest = { ...request, fingerprint: record.fingerprint, ...terms };
      const late = (result: ClaimResult): void => {
        if (result.outcome === "granted") void giveBack({ ...asking, fence: result.fence }, result.origin).catch(() => undefined);
      };
      const result = await call("claim", () => store.claim(asking), parts.timeoutMs, late);
      if (result.outcome === "completed") return result.fence === request.fence ? "committed" : "lost";
      return result.outcome === "granted" && result.fence === request.fence ? "not-landed" : "lost";
    },`,
  ),
  one(
    "an outcome is given up after one lease of outage",
    "core/engine/outcome-writer.ts",
    '    if (this.#stopped) return "failed";\n',
    `    if (this.#stopped) return "failed";
    const { environment } = (this.#parts as EngineParts).settings;
    const untilMs = environment.monotonicMs() + this.#attempt.ask.route.leaseMs;
    const once = write;
    write = () => (environment.monotonicMs() < untilMs ? once() : Promise.resolve("stale" as const));
`,
  ),
  one(
    "a policy holds what its owner has released",
    "core/engine/lease-mode.ts",
    "const ruling = rulingOf(result);",
    `const ruling = rulingOf(result);
      if (ask.route.onUnknown === "hold" && result.outcome === "unknown" && result.holdReason === undefined) {
        const decision = { kind: "hold" } as const;
        void store
          .settle({ identity, fence: result.fence, decision, actor: "ichido", reason: "the owner vanished" })
          .catch(() => undefined);
      }`,
  ),
  one(
    "a handler goes on after it was handed over",
    "core/engine/lease-attempt.ts",
    'this.stop(new FenceLost("this attempt was handed over"));',
    "",
  ),
  one(
    "a lost lease may still be trusted by steps",
    "core/engine/lease-attempt.ts",
    "return this.stoppedBy === undefined && !isOver && isTrusted(live, this.parts.settings.environment.monotonicMs());",
    "return !isOver && isTrusted({ ...live, lost: false }, this.parts.settings.environment.monotonicMs());",
  ),
  one(
    "an outcome of this process does not go first",
    "core/engine/own-outcomes.ts",
    "return lateWrites.flush(localIdOf(identity));",
    "return true;",
  ),
  one(
    "an outcome on its way does not go first",
    "core/engine/own-outcomes.ts",
    "const sent = running.find(identity)?.sent;",
    "const sent = undefined as Promise<unknown> | undefined;",
  ),
  one(
    "an ended key is not looked after for a copy of its claim",
    "core/engine/lease-attempt.ts",
    "if (grant.unheard !== true) return;",
    "if (grant.unheard !== undefined) return;",
  ),
  one(
    "what ran and was left open goes back as it was come by",
    "core/record-machine/seen.ts",
    "ranUnder === fence",
    "ranUnder === -fence",
  ),
];
