/**
 * Functions of more than 80 lines, without comments and blank lines, are exceptions and listed here with their reason. The
 * list may only get shorter: whoever writes a longer function splits it by noun.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { root } from "./tracked.ts";

const linesMax = 80;

/** A closure in place of a class: the state of one noun and its verbs, none of which is long. */
const closures: readonly string[] = [
  "packages/ichido/src/brokers/redis-streams/consumer.ts: createConsumer",
  "packages/ichido/src/client/attempt.ts: createAttempts",
  "packages/ichido/src/core/engine/answers.ts: createAnswers",
  "packages/ichido/src/core/engine/attempt-log.ts: createAttemptLog",
  "packages/ichido/src/core/engine/commit.ts: createCommit",
  "packages/ichido/src/core/engine/decide.ts: createDecider",
  "packages/ichido/src/core/engine/heartbeat.ts: createHeartbeat",
  "packages/ichido/src/core/engine/lost-claims.ts: createLostClaims",
  "packages/ichido/src/core/engine/reconciler.ts: createReconciler",
  "packages/ichido/src/core/engine/reconciliation.ts: createReconciliation",
  "packages/ichido/src/core/engine/refusals.ts: createRefusals",
  "packages/ichido/src/core/engine/running.ts: createRunning",
  "packages/ichido/src/core/engine/steps.ts: createSteps",
  "packages/ichido/src/core/engine/store-calls.ts: createStoreCalls",
  "packages/ichido/src/core/engine/transaction-mode.ts: createTransactionMode",
  "packages/ichido/src/core/request/multipart.ts: createMultipartHash",
  "packages/ichido/src/inbox/consumer.ts: createConsumer",
  "packages/ichido/src/inbox/dead-letters.ts: createDeadLetters",
  "packages/ichido/src/inbox/webhook-receiver.ts: createWebhookReceiver",
  "packages/ichido/src/outbox/flights.ts: createFlights",
  "packages/ichido/src/outbox/outbox.ts: createOutbox",
  "packages/ichido/src/outbox/routes.ts: createRoutes",
  "packages/ichido/src/outbox/sender.ts: createSender",
  "packages/ichido/src/react/use-attempt.ts: createUseAttempt",
  "packages/ichido/src/stores/memory/shelf.ts: createShelf",
  "packages/ichido/src/stores/memory/store.ts: memoryStore",
  "packages/ichido/src/stores/redis/history.ts: createHistory",
  "packages/ichido/src/stores/redis/scripts.ts: createScripts",
  "packages/ichido/src/stores/redis/store.ts: redisStore",
  "packages/ichido/src/stores/sqlite/store.ts: sqliteStore",
  "packages/ichido/src/stores/sqlite/write-queue.ts: createWriteQueue",
  "packages/ichido/src/testing/fake-provider.ts: fakeProvider",
  "packages/ichido/src/testing/proxied-connection.ts: proxyConnection",
];

/** The steps of one protocol in their order, which would be harder to follow apart. */
const sequences: readonly string[] = [
  "packages/ichido/src/client/delivery.ts: deliver",
  "packages/ichido/src/inbox/attempts.ts: settleMessage",
  "packages/ichido/src/react/use-attempt.ts: useAttempt",
];

function longFunctions(): string[] {
  const folder = mkdtempSync(join(tmpdir(), "ichido-lint-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = join(folder, "oxlint.json");
  const rule = ["error", { max: linesMax, skipComments: true, skipBlankLines: true }];
  const rules = { "eslint/max-lines-per-function": rule };
  writeFileSync(config, JSON.stringify({ categories: { correctness: "off" }, rules }));
  const args = ["--config", config, "--format", "json", "packages/ichido/src", "apps/shop/src"];
  let told: string;
  try {
    told = execFileSync(join(root, "node_modules/.bin/oxlint"), args, { cwd: root, encoding: "utf8" });
  } catch (error) {
    told = (error as { readonly stdout: string }).stdout;
  }
  const { diagnostics } = JSON.parse(told) as {
    readonly diagnostics: readonly { readonly message: string; readonly filename: string }[];
  };
  return diagnostics
    .filter(({ filename }) => !filename.endsWith(".test.ts"))
    .map(({ message, filename }) => `${filename}: ${/`([^`]+)`/.exec(message)?.[1] ?? "(anonymous)"}`)
    .toSorted();
}

test("functions of more than 80 lines are those on the list", () => {
  expect(longFunctions()).toEqual([...closures, ...sequences].toSorted());
});
