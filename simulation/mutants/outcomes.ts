/** How an attempt keeps its lease and comes by its outcome, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

const leases: readonly Mutant[] = [
  one(
    "a lease is renewed when it is over",
    "core/engine/heartbeat.ts",
    "const renewedShare = 1 / 3;",
    "const renewedShare = 1.2;",
  ),
  one(
    "a renewal that was refused counts",
    "core/engine/heartbeat.ts",
    'if (answer === "ok" || (answer === "locked" && isHeld)) claim.confirmedMs = sentMs;',
    "if (answer !== undefined) claim.confirmedMs = sentMs;",
  ),
  one(
    "a renewal that failed counts",
    "core/engine/heartbeat.ts",
    "    } catch {\n",
    "    } catch {\n      for (const claim of batch) claim.confirmedMs = sentMs;\n",
  ),
  one(
    "a handler past its time keeps its key",
    "core/engine/heartbeat.ts",
    "if (nowMs - claim.startedMs >= parts.executionMs) {",
    "if (nowMs < 0) {",
  ),
  one(
    "what a failed claim was granted is not given back",
    "core/engine/store-calls.ts",
    'if (result.outcome !== "granted") return;',
    'if (result.outcome !== "granted" || result.fence > 0) return;',
  ),
  one(
    "a failed claim is not looked for",
    "core/engine/store-calls.ts",
    'if (codeOf(failure) === "store-unavailable") lostClaims.add(this.#request);',
    "",
  ),
  one(
    "the other copy of a claim that was refused is not looked for",
    "core/engine/store-calls.ts",
    "if (isUnheard(result)) lostClaims.add(this.#request);",
    "",
  ),
  one("a failed claim is looked for once", "core/engine/lost-claims.ts", "const looksMax = 10;", "const looksMax = 1;"),
  one(
    "a record that cannot be told about is not handed over",
    "core/engine/lease-mode.ts",
    '      await attempt.handOver();\n      return { kind: "not-visible-yet" };',
    '      return { kind: "not-visible-yet" };',
  ),
  one(
    "handing over keeps the lease",
    "core/engine/lease-attempt.ts",
    "else if (mayEndLease) await this.parts.calls.suspend({ ...this.claim, ...this.news });",
    "else void mayEndLease;",
  ),
];

const outcomes: readonly Mutant[] = [
  one(
    "a late outcome is tried once more",
    "core/engine/late-writes.ts",
    "void now().catch(again)",
    "void now().catch(stop)",
  ),
  one(
    "an answer too large to keep is not remembered",
    "core/engine/lease-attempt.ts",
    "return this.#keep(this.keptOf(response));",
    "return response.body.length > this.bodyBytesMax ? this.#release() : this.#keep(recordedOf(response));",
  ),
  one(
    "an answer is sent before its commit",
    "core/engine/commit.ts",
    "          await storeOn(handle, serialised);\n",
    '          await storeOn(handle, serialised);\n          attempt.provide({ kind: "own", response: serialised });\n',
  ),
  one("nobody asks what became of a commit", "core/engine/commit.ts", "if (response === undefined) {", "if (used) {"),
  one(
    "a lost commit counts as made",
    "core/engine/commit.ts",
    'if (outcome === "committed") return',
    'if (outcome === "committed" || outcome === "open") return',
  ),
  one(
    "a question about a commit is asked once",
    "core/engine/lost-commit.ts",
    'if (landed !== "busy") return landed;',
    'return landed === "busy" ? "not-landed" : landed;',
  ),
  one("a replay is not marked", "core/engine/recorder.ts", ", [profile.marker.name, profile.marker.value]]", "]"),
  one(
    "the replay cache outlives its record",
    "core/engine/replay-cache.ts",
    "endMs: startedMs + livesMs,",
    "endMs: startedMs + 100 * livesMs,",
  ),
  one(
    "an interim answer is stored as the answer",
    "core/engine/lease-attempt.ts",
    "this.parts.calls.suspend({ ...this.claim, interim, ...this.news }),",
    "this.parts.calls.complete({ ...this.claim, response: interim, ...this.news }),",
  ),
  one(
    "an outcome that is open is sent as an answer of its own",
    "core/engine/lease-attempt.ts",
    "if (this.isReleased) return this.#release();",
    'if (this.isReleased || this.ask.route.onUnknown === "hold") return this.#release();',
  ),
  one(
    "references are shared by callers",
    "core/request/scope.ts",
    "hex(identity.scopeHash), identity.key,",
    "identity.key,",
  ),
  one(
    "references do not tell steps apart",
    "core/engine/attempt.ts",
    "referenceOf(this.ask.identity, this.grant.canonical, name);",
    "referenceOf(this.ask.identity, this.grant.canonical, name.slice(0, 0));",
  ),
];

const steps: readonly Mutant[] = [
  one(
    "what a step came to is not noted",
    "core/engine/steps.ts",
    "() => measured(name, fn));\n    await finish(name, value);\n",
    "() => measured(name, fn));\n",
  ),
  one(
    "what a step's verify finds is not taken",
    "core/engine/steps.ts",
    'if (verdict.verdict === "found") {',
    'if (verdict.verdict === ("never" as string) && verdict.verdict === "found") {',
  ),
  one(
    "a step is called before its start is noted",
    "core/engine/steps.ts",
    "fenced(await calls.startStep({ ...request, ...news }));",
    "void calls.startStep({ ...request, ...news }).catch(() => undefined);",
  ),
  one(
    "a start that was noted long ago is not noted again",
    "core/engine/steps.ts",
    "while (environment.monotonicMs() - notedMs > storeTimeoutMs) notedMs = await noteStart(request);",
    "",
  ),
];

export const outcomeMutants: readonly Mutant[] = [...leases, ...outcomes, ...steps];
