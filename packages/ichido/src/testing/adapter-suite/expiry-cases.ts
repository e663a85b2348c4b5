/** T: how long a key is remembered, and by whose clock. */
import assert from "node:assert/strict";
import { systemEnvironment, type Environment } from "../../core/contract/environment.ts";
import { appCases, defineCases, type AdapterCase } from "./case.ts";
import { eventually, type Ask } from "./client.ts";
import { keeps } from "./repeats.ts";
import { assertExecuted, assertReplayed, freshKey, type App } from "./rig.ts";

const retentionMs = 1_200;
/** The store may count whole milliseconds by another clock. */
const clockSlackMs = 5;

/** Asks again and again until the key has expired; returns how long that took. */
async function expiryOf(app: App, options: Ask, probe: Ask = options): Promise<number> {
  const startedMs = performance.now();
  await keeps(app, options);
  let expiredMs = 0;
  await eventually("the key expires", async () => {
    // Another body under a key that has not expired is a mismatch; under an expired key it runs.
    const reply = await app.ask(probe);
    if (reply.status !== 201 || reply.header("idempotency-replayed") !== undefined) return false;
    // Measured from before the first claim to after the second: at least a whole retention, also on a slow machine.
    expiredMs = performance.now() - startedMs;
    return true;
  });
  return expiredMs;
}

/** The environment of a process whose clocks are wrong by this much. */
export function skewed(byMs: number): Environment {
  return {
    ...systemEnvironment,
    wallMs: () => systemEnvironment.wallMs() + byMs,
    monotonicMs: () => systemEnvironment.monotonicMs() + Math.abs(byMs),
  };
}

export const expiryCases: readonly AdapterCase[] = [
  ...[3_600_000, -3_600_000].flatMap((byMs) =>
    appCases({
      [`T-04 ${byMs > 0 ? "ahead" : "behind"}: a node whose clock is an hour off replays what others stored`]: async (
        app,
        key,
        rig,
      ) => {
        const off = await rig.start({ store: rig.second, engine: { environment: skewed(byMs) } });
        const [here, there] = [freshKey(), freshKey()];
        const answer1 = assertExecuted(await app.ask({ key: here }));
        assertReplayed(await off.ask({ key: here }), answer1);
        const answer2 = assertExecuted(await off.ask({ key: there }));
        assertReplayed(await app.ask({ key: there }), answer2);
        assert.equal(app.effects() + off.effects(), 2);
      },
    }),
  ),
  ...defineCases({
    "T-01: a key is replayed until its retention ends and then runs as new, never earlier": async (rig, key) => {
      const app = await rig.start({ engine: { retentionMs } });
      const expiredMs = await expiryOf(app, { key });
      assert.ok(expiredMs >= retentionMs - clockSlackMs, `expired after ${expiredMs} ms`);
      assert.equal(app.effects(), 2);
      const again = await app.ask({ key });
      assert.equal(again.header("idempotency-replayed"), "true", "the fresh record is replayed in its turn");
    },
    "T-01 other: past its retention a key takes other content, without a mismatch": async (rig, key) => {
      const app = await rig.start({ engine: { retentionMs } });
      const expiredMs = await expiryOf(app, { key }, { key, json: { amount: 7 } });
      assert.ok(expiredMs >= retentionMs - clockSlackMs, `expired after ${expiredMs} ms`);
      assert.equal(app.effects(), 2);
    },
    "T-02: replays do not extend the retention": async (rig) => {
      const app = await rig.start({ engine: { retentionMs } });
      // Asks about every 20 ms: a window that slides with replays would never end.
      await expiryOf(app, { key: freshKey() });
      assert.equal(app.effects(), 2);
    },
  }),
];
