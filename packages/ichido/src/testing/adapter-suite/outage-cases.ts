/** A05, A18, A33 to A40: stores that fail, forget and disagree about the time. */
import assert from "node:assert/strict";
import { defineCases, type AdapterCase } from "./case.ts";
import { eventually, type Ask } from "./client.ts";
import { skewed } from "./expiry-cases.ts";
import { allVerbs, faultyStore } from "./faulty-store.ts";
import { askUntilSettled, keeps } from "./repeats.ts";
import {
  assertExecuted,
  assertRefused,
  assertReplayed,
  freshKey,
  untilAtGate,
  whileRunning,
  type App,
  type Rig,
} from "./rig.ts";

/** Short, because some calls hang; not so short that on a busy machine the store seems to be down. */
const storeTimeoutMs = 3_000;

async function expiredKeys(rig: Rig, app: App, count: number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, freshKey);
  await Promise.all(keys.map(async (key) => assertExecuted(await app.ask({ key }))));
  await eventually("all keys expire", async () => (await rig.store.stats()).sweepLagMs > 0);
  return keys;
}

export const outageCases: readonly AdapterCase[] = [
  ...(["refuse", "lose", "hang"] as const).flatMap((fault) =>
    defineCases({
      [`A18 ${fault}: a store that fails at completion: the true answer, told as not stored, and no silent second run`]:
        async (rig) => {
          const store = faultyStore(rig.store);
          const app = await rig.start({ store, engine: { storeTimeoutMs } });
          const options: Ask = { key: freshKey() };
          store.break(["complete"], fault, 1);
          const first = assertExecuted(await app.ask(options));
          assert.equal(first.header("idempotency-stored"), "false");
          const reply = await askUntilSettled(app, options);
          assert.equal(reply.header("idempotency-replayed"), "true");
          assert.ok(reply.body.equals(first.body));
          assert.equal(reply.header("idempotency-stored"), undefined);
          assert.equal(app.effects(), 1);
          assert.ok(app.events.some((event) => event.type === "not-stored"));
        },
    }),
  ),
  ...[300_000, -300_000].flatMap((byMs) =>
    defineCases({
      [`A40 ${byMs > 0 ? "ahead" : "behind"}: a node whose clock is five minutes off takes nothing over early`]: async (
        rig,
      ) => {
        const leaseMs = 5_000;
        const app = await rig.start({ engine: { leaseMs } });
        const off = await rig.start({ store: rig.second, engine: { leaseMs, environment: skewed(byMs) } });
        for (const [owner, other] of [
          [app, off],
          [off, app],
        ] as const) {
          const key = freshKey();
          const running = await untilAtGate(owner, { key }, "a40");
          assertRefused(await other.ask({ key }), 409, "idempotency-in-flight");
          owner.gates.open("a40");
          const first = assertExecuted(await running.reply);
          assertReplayed(await other.ask({ key }), first);
        }
        assert.equal(app.effects() + off.effects(), 2);
      },
    }),
  ),
  ...defineCases({
    "A05: a claim whose reply was lost, sent again by the driver, goes on as its own": async (rig) => {
      const store = faultyStore(rig.store);
      const app = await rig.start({ store });
      store.break(["claim"], "resend", 1);
      const options: Ask = { key: freshKey() };
      await keeps(app, options);
      // The same for the completion: the store has applied it, and gets it again.
      store.break(["complete"], "resend", 1);
      await keeps(app, { key: freshKey() });
      assert.equal(app.effects(), 2);
    },
    "A33: past its retention a key is new, swept or not; a sweep leaves living claims alone": async (rig) => {
      const app = await rig.start({ engine: { retentionMs: 800, sweepMs: "off" } });
      const [lives, unswept] = [freshKey(), freshKey()];
      await whileRunning(app, { key: lives }, async () => {
        assertExecuted(await app.ask({ key: unswept }));
        await expiredKeys(rig, app, 100);
        // By now the retention of the claim under way has passed, too.
        await eventually("the key that was not swept to run as new", async () => {
          const reply = await app.ask({ key: unswept });
          return reply.status === 201 && reply.header("idempotency-replayed") === undefined;
        });
        let deleted = 0;
        await eventually("a sweep that removes what has expired", async () => {
          deleted += (await app.sweep()).deleted;
          return deleted >= 100;
        });
        assertRefused(await app.ask({ key: lives }), 409, "idempotency-in-flight");
      });
    },
    "A36: a store that is down or slow before the claim is refused in time, or passed by where that was chosen": async (
      rig,
    ) => {
      const store = faultyStore(rig.store);
      const app = await rig.start({ store, engine: { storeTimeoutMs } });
      for (const fault of ["refuse", "lose", "hang"] as const) {
        store.break(["claim"], fault);
        const startedMs = performance.now();
        assertRefused(await app.ask({ key: freshKey() }), 503, "store-unavailable");
        assert.ok(performance.now() - startedMs < 20_000, "within a limit");
        assert.equal(app.effects(), 0);
      }
      store.break(["claim"], "refuse");
      assertExecuted(await app.ask({ to: "open", key: freshKey() }));
      store.heal();
      await keeps(app, { key: freshKey() });
    },
    "A37: a store that is down at boot and at completion: the server lives and says so": async (rig) => {
      const store = faultyStore(rig.store);
      store.break(allVerbs, "refuse");
      const app = await rig.start({ store });
      assertRefused(await app.ask({ key: freshKey() }), 503, "store-unavailable");
      assert.ok(app.events.some((event) => event.type === "warning"));
      store.heal();
      store.break(["complete", "renew"], "refuse");
      assert.equal(assertExecuted(await app.ask({ key: freshKey() })).header("idempotency-stored"), "false");
      assert.ok(app.events.some((event) => event.type === "not-stored"));
      store.heal();
      await keeps(app, { key: freshKey() });
    },
  }),
];
