/** What a request does when it is sent several times. */
import assert from "node:assert/strict";
import { eventually, type Ask, type Reply } from "./client.ts";
import { assertExecuted, assertReplayed, type App } from "./rig.ts";

/** The handler runs every time. */
export async function runs(app: App, options: Ask, times: number): Promise<void> {
  const before = app.effects();
  for (let index = 0; index < times; index += 1) assertExecuted(await app.ask(options), options.plan?.status ?? 201);
  assert.equal(app.effects() - before, times);
}

/** The handler runs once, then the answer is replayed. */
export async function keeps(app: App, options: Ask, replay?: Parameters<typeof assertReplayed>[2]): Promise<Reply> {
  const before = app.effects();
  const first = assertExecuted(await app.ask(options), options.plan?.status ?? 201);
  assertReplayed(await app.ask(options), first, replay);
  assert.equal(app.effects() - before, 1);
  return first;
}

const isInFlight = (reply: Reply): boolean => reply.status === 409 && reply.json()["code"] === "idempotency-in-flight";

/** Asks until the answer is another one than "in flight". */
export async function askUntilSettled(app: Pick<App, "ask">, options: Ask): Promise<Reply> {
  let reply = await app.ask(options);
  await eventually("the request in flight to end", async () => {
    if (isInFlight(reply)) reply = await app.ask(options);
    return !isInFlight(reply);
  });
  return reply;
}
