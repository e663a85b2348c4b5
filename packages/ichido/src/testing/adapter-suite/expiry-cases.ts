/** T: how long a key is remembered, and by whose clock. */
import assert from "node:assert/strict";
import { systemEnvironment, type Environment } from "../../core/contract/environment.ts";
import { defineCase, type AdapterCase } from "./case.ts";
import { eventually, type Ask } from "./client.ts";
import { assertExecuted, assertReplayed, freshKey, type App } from "./rig.ts";

const retentionMs = 1_200;
/** The store may count whole milliseconds by another clock. */
const clockSlackMs = 5;

/** Replays all the time until the key has expired; tells after how long that was. */
async function expiryOf(app: App, options: Ask, probe: Ask = options): Promise<number> {
  const startedMs = performance.now();
  const first = assertExecuted(await app.ask(options));
  assertReplayed(await app.ask(options), first);
  let expiredMs = 0;
  await eventually("the key expires", async () => {
    // Another body under a living key is a mismatch; only an expired one runs it.
    const reply = await app.ask(probe);
    if (reply.status !== 201 || reply.header("idempotency-replayed") !== undefined) return false;
    // From before the first claim to after the second: a whole retention lies between, however slow the machine.
    expiredMs = performance.now() - startedMs;
    return true;
  });
  return expiredMs;
}

/** A node whose clocks are off by this much. */
export function skewed(byMs: number): Environment {
  return {
    ...systemEnvironment,
    wallMs: () => systemEnvironment.wallMs() + byMs,
    monotonicMs: () => systemEnvironment.monotonicMs() + Math.abs(byMs),
  };
}

export const expiryCases: readonly AdapterCase[] = [
  defineCase("T-01", "a key is replayed until its retention ends and then runs as new, never earlier", async (rig) => {
    const app = await rig.start({ engine: { retentionMs } });
    const key = freshKey();
    const expiredMs = await expiryOf(app, { key });
    assert.ok(expiredMs >= retentionMs - clockSlackMs, `expired after ${expiredMs} ms`);
    assert.equal(app.effects(), 2);
    const again = await app.ask({ key });
    assert.equal(again.header("idempotency-replayed"), "true", "the fresh record is replayed in its turn");
  }),
  defineCase("T-01 other", "past its retention a key takes other content, without a mismatch", async (rig) => {
    const app = await rig.start({ engine: { retentionMs } });
    const key = freshKey();
    const expiredMs = await expiryOf(app, { key }, { key, json: { amount: 7 } });
    assert.ok(expiredMs >= retentionMs - clockSlackMs, `expired after ${expiredMs} ms`);
    assert.equal(app.effects(), 2);
  }),
  defineCase("T-02", "replays do not extend the retention", async (rig) => {
    const app = await rig.start({ engine: { retentionMs } });
    // Asks about every 20 ms: a window that slides with replays would never end.
    await expiryOf(app, { key: freshKey() });
    assert.equal(app.effects(), 2);
  }),
  ...[3_600_000, -3_600_000].map((byMs) =>
    defineCase(
      `T-04 ${byMs > 0 ? "ahead" : "behind"}`,
      "a node whose clock is an hour off replays what others stored",
      async (rig) => {
        const app = await rig.start();
        const off = await rig.start({ store: rig.second, engine: { environment: skewed(byMs) } });
        const [here, there] = [freshKey(), freshKey()];
        const answer1 = assertExecuted(await app.ask({ key: here }));
        assertReplayed(await off.ask({ key: here }), answer1);
        const answer2 = assertExecuted(await off.ask({ key: there }));
        assertReplayed(await app.ask({ key: there }), answer2);
        assert.equal(app.effects() + off.effects(), 2);
      },
    ),
  ),
];
