/** Transactions with their answer in them, undone rule by rule. */
import { one, shownBy, type Mutant } from "./mutant.ts";

const attempt: readonly Mutant[] = [
  one(
    "an answer ends the transaction under a running body",
    "core/engine/transaction-attempt.ts",
    'if (this.#body === "running" || this.#overtaken) {',
    "if (this.#overtaken) {",
  ),
  one(
    "a final answer is sent although the body it came before is rolled back",
    "core/engine/transaction-attempt.ts",
    "return Promise.resolve(keeps ? this.#refused(this.parts.answers.leftRunning()) : sendAsIs);",
    "return Promise.resolve(sendAsIs);",
  ),
  one(
    "a body past its time keeps its connection",
    "core/engine/transaction-attempt.ts",
    "    this.#handle.giveUp?.();\n",
    "",
  ),
  one(
    "ctx.transaction resolves although nothing was committed",
    "core/engine/transaction-attempt.ts",
    'if (result.kind === "replace") throw this.#failure ?? transactionOverError();',
    "void this.#failure;",
  ),
  one(
    "what a body wrote before it threw is committed with the answer",
    "core/engine/transaction-attempt.ts",
    'conclude({ kind: this.#body === "threw" ? "answer-only" : "commit", response: kept() })',
    'conclude({ kind: "commit", response: kept() })',
  ),
  one(
    "a second body runs in the transaction of the first",
    "core/engine/transaction-attempt.ts",
    'if (this.#body !== "none") throw secondBodyError();',
    'if (this.#body === "closed") throw secondBodyError();',
  ),
  one(
    "an answer is sent although its writes are gone",
    "core/engine/transaction-attempt.ts",
    '.resolve(end === "undone" ? this.#refused(answers.unavailable()) : sendAsIs);',
    ".resolve(sendAsIs);",
  ),
  one(
    "the caller of an overdue attempt is not answered",
    "core/engine/transaction-attempt.ts",
    '    this.send(response);\n    this.#settled.resolve({ kind: "replace", response });\n',
    "    void response;\n",
  ),
  one(
    "what verify found is told and not stored",
    "core/engine/transaction-mode.ts",
    'void opened.conclude({ kind: "commit", response: found.response });',
    'void opened.conclude({ kind: "rollback" });',
  ),
];

const mode: readonly Mutant[] = [
  one(
    "a refusal is kept by itself when its COMMIT is lost",
    "core/engine/transaction-mode.ts",
    "(wasAborted(error) && answer.status >= 400);",
    "answer.status >= 400;",
  ),
  one(
    "any answer is kept by itself when its transaction is undone",
    "core/engine/transaction-mode.ts",
    "(wasAborted(error) && answer.status >= 400);",
    "wasAborted(error);",
  ),
  one(
    "transaction mode runs without asking what is in doubt",
    "core/engine/transaction-mode.ts",
    "const found = await recover(parts, opened);",
    'const found = { kind: "run" } as Awaited<ReturnType<typeof recover>>;',
  ),
  one(
    "a handler runs although verify could not tell",
    "core/engine/transaction-mode.ts",
    '} else if (found.kind === "open") {',
    '} else if (found.kind === ("never" as string)) {',
  ),
  one(
    "the claim is made outside the transaction",
    "core/engine/transaction-mode.ts",
    "() => calls.claimAnyhow(request, handle));",
    "() => calls.claimAnyhow(request));",
  ),
  one(
    "the answer is written outside the transaction",
    "core/engine/transaction-mode.ts",
    'if ((await calls.complete(completion, handle)) === "stale") throw lost();',
    'void handle;\n    if ((await calls.complete(completion)) === "stale") throw lost();',
  ),
  one(
    "the writes commit without the answer",
    "core/engine/transaction-mode.ts",
    'await opened.traced("idempotency.complete", {}, () => store(claim, kept, handle, opened.news));',
    "void kept;",
  ),
  one(
    "an attempt of which nothing is kept is committed",
    "core/engine/transaction-mode.ts",
    'if (conclusion.kind === "rollback") throw new LeaveUncommitted("nothing is kept of this attempt");',
    'if (conclusion.kind === "rollback") return;',
  ),
  one(
    "an outcome that cannot be told counts as committed",
    "core/engine/transaction-mode.ts",
    'return outcome === "committed" || outcome === "lost" ? outcome : "undone";',
    'return outcome === "not-landed" ? "undone" : outcome === "lost" ? outcome : "committed";',
  ),
  one(
    "a commit that did not land counts as committed",
    "core/engine/transaction-mode.ts",
    'return outcome === "committed" || outcome === "lost" ? outcome : "undone";',
    'return outcome === "lost" ? outcome : "committed";',
  ),
  one(
    "a handler that never ends is waited for without end",
    "core/engine/transaction-mode.ts",
    "return bodies.bound(attempt.concluded).catch(() => {",
    "return attempt.concluded.catch(() => {",
  ),
];

const contents: readonly Mutant[] = [
  one(
    "another content under a key is not refused",
    "core/record-machine/claim.ts",
    'if (!isSameRequest(record.fingerprint, asked)) return "mismatch";',
    "",
  ),
];

const leased: readonly Mutant[] = [
  one(
    "an overtaken owner commits, in lease mode",
    "core/engine/commit.ts",
    'if (result === "stale") throw new FenceLost("another attempt owns this key; this transaction must not commit");',
    "void result;",
  ),
  one(
    "a lost COMMIT counts as not landed, and is not asked about",
    "core/engine/commit.ts",
    "const outcome = await findCommitOutcome(parts, claim, error);",
    'const outcome = "not-landed" as Awaited<ReturnType<typeof findCommitOutcome>>;',
  ),
  one(
    "a lost COMMIT counts as landed, and is not asked about",
    "core/engine/commit.ts",
    "const outcome = await findCommitOutcome(parts, claim, error);",
    'const outcome = "committed" as Awaited<ReturnType<typeof findCommitOutcome>>;',
  ),
  one(
    "a body past its time keeps its connection, in lease mode",
    "core/engine/commit.ts",
    "        handle.giveUp?.();\n",
    "",
  ),
  one(
    "a body commits beside an answer that was written meanwhile",
    "core/engine/commit.ts",
    "if (!attempt.isSettled) return;",
    "if (!attempt.isSettled || !(false as boolean)) return;",
  ),
  one("an answer does not wait for the commit under way", "core/engine/commit.ts", "underWay = ended.promise;", ""),
  one(
    "a commit of the handler's own is asked about before the answer is on it",
    "core/engine/commit.ts",
    "await made.stored.catch(() => undefined);",
    "",
  ),
  one(
    "the question about a lost COMMIT is a claim, given back when its answer comes late",
    "core/engine/lost-commit.ts",
    "const landed = await calls.landed(request);",
    `const { find, claim } = calls;
      const { fingerprint } = (await find(request.identity)) ?? {};
      const asked = { ...request, fingerprint, leaseMs: 1_000, retentionMs: 86_400_000, takeover: "none" };
      const { outcome } = await claim(asked as never);
      const isOpen = outcome !== "granted" && outcome !== "completed";
      const landed: Landed = isOpen ? "busy" : await calls.landed(request);`,
  ),
  one(
    "a transaction that is under way counts as not landed",
    "core/engine/lost-commit.ts",
    'if (landed !== "busy") return landed;',
    'return landed === "busy" ? "not-landed" : landed;',
  ),
  one(
    "a question that was not answered counts as not landed",
    "core/engine/lost-commit.ts",
    "// The store may be back in a moment.",
    'return "not-landed";',
  ),
  one(
    "the question about a commit does not wait for its transaction",
    "stores/sqlite/inspect.ts",
    "return queue.tryWrite((): Landed => {",
    "return queue.read((): Landed => {",
  ),
];

const pooled: readonly Mutant[] = [
  one(
    "a COMMIT that failed is taken for a success",
    "transactions/pooled.ts",
    "throw failureOfCommit(error);",
    "void failureOfCommit(error);",
  ),
  one(
    "a COMMIT that was answered by ROLLBACK is taken for a success",
    "transactions/pooled.ts",
    "    requireCommitted?.(result);\n",
    "    void requireCommitted, result;\n",
  ),
  one(
    "COMMIT and ROLLBACK have no deadline",
    "transactions/pooled.ts",
    "return await this.#deadlines.bound(this.#callMs, answer);",
    "return await answer;",
  ),
  one(
    "a connection whose COMMIT failed is lent again",
    "transactions/pooled.ts",
    "    } catch (error) {\n      this.broken = true;\n      throw error;\n    }\n  }\n\n  async #commitWith",
    "    } catch (error) {\n      throw error;\n    }\n  }\n\n  async #commitWith",
  ),
  one(
    "a connection is lent again without a ROLLBACK",
    "transactions/pooled.ts",
    "if (!this.broken) await this.rollback().catch(() => undefined);",
    "",
  ),
  one(
    "a connection that was given up is lent again",
    "transactions/pooled.ts",
    "          this.broken = true;\n          reject(reason);",
    "          reject(reason);",
  ),
  one(
    "a broken connection is given back as a sound one",
    "transactions/pooled.ts",
    "parts.giveBack(connection, transaction.broken);",
    "parts.giveBack(connection, false);",
  ),
  one(
    "a handle outlives its transaction",
    "transactions/pooled.ts",
    "if (this.over) return Promise.reject(notInTransaction());",
    "",
  ),
  one(
    "a handle ends only when ROLLBACK is answered",
    "transactions/pooled.ts",
    "      this.over = true;\n      if (!this.broken)",
    "      if (!this.broken)",
  ),
  one(
    "a function is given up and its transaction commits",
    "transactions/pooled.ts",
    "          this.broken = true;\n          reject(reason);",
    "          resolve(undefined as Value);\n          void reason;",
  ),
];

export const transactionsMutants: readonly Mutant[] = shownBy("transactions", [
  ...attempt,
  ...mode,
  ...contents,
  ...leased,
  ...pooled,
]);
