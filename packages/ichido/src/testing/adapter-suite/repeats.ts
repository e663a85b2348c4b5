/** What a request does when it is sent several times. */
import assert from "node:assert/strict";
import type { Ask, Reply } from "./client.ts";
import { assertExecuted, assertReplayed, type App } from "./rig.ts";

/** Every time anew. */
export async function runs(app: App, options: Ask, times: number): Promise<void> {
  const before = app.effects();
  for (let index = 0; index < times; index += 1) assertExecuted(await app.ask(options), options.plan?.status ?? 201);
  assert.equal(app.effects() - before, times);
}

/** Runs once, then replays. */
export async function keeps(app: App, options: Ask): Promise<Reply> {
  const before = app.effects();
  const first = assertExecuted(await app.ask(options), options.plan?.status ?? 201);
  assertReplayed(await app.ask(options), first);
  assert.equal(app.effects() - before, 1);
  return first;
}
