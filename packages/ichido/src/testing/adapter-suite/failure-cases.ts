/** E: what happens to a key when something fails. */
import assert from "node:assert/strict";
import { crashAt } from "../faults.ts";
import { appCases, casesNeeding, defineCases, type AdapterCase } from "./case.ts";
import { eventually, requestText, sendRaw, type Ask } from "./client.ts";
import { faultyStore } from "./faulty-store.ts";
import { isReplayed } from "./plan.ts";
import { keeps } from "./repeats.ts";
import { askUntilSettled } from "./repeats.ts";
import { assertExecuted, assertRefused, assertReplayed, freshKey, type App, type Rig, unfinishedIn } from "./rig.ts";

/** Long enough that the lease does not end by chance between two requests. */
const leaseMs = 2_000;

/** Sends a request to an engine that dies at the point; resolves when it is dead. */
async function dyingAt(
  rig: Rig,
  point: Parameters<typeof crashAt>[0],
  options: Ask,
  onUnknown: "rerun" | "hold",
): Promise<App> {
  const faults = crashAt(point, "die");
  const app = await rig.start({ engine: { leaseMs, faults, onUnknown, closeMs: 10 } });
  const socket = await sendRaw(app.port, requestText(options));
  await faults.reached;
  socket.destroy();
  return app;
}

export const failureCases: readonly AdapterCase[] = [
  ...([401, 403, 429] as const).flatMap((status) =>
    appCases({
      [`E-02 ${status}: from an outer layer is never stored, and a replay may meet it too`]: async (app, key) => {
        app.tokens.set("alice-1", status);
        assert.equal((await app.ask({ key })).status, status);
        app.tokens.set("alice-1", 200);
        const first = assertExecuted(await app.ask({ key }));
        app.tokens.set("alice-1", status);
        assert.equal((await app.ask({ key })).status, status);
        app.tokens.set("alice-1", 200);
        assertReplayed(await app.ask({ key }), first);
        assert.equal(app.effects(), 1);
      },
    }),
  ),
  ...appCases({
    "E-01: a body that is refused before the handler does not consume the key": async (app) => {
      const [malformed, large] = [freshKey(), freshKey()];
      assert.equal((await app.ask({ key: malformed, content: '{"amount":' })).status, 400);
      assertExecuted(await app.ask({ key: malformed }));
      assert.equal((await app.ask({ key: large, json: { text: "x".repeat(3_000_000) } })).status, 413);
      assertExecuted(await app.ask({ key: large }));
      assert.equal(app.effects(), 2);
    },
    "E-03: a handler that threw before its effect runs again": async (app, key) => {
      assertExecuted(await app.ask({ key, plan: { throws: "before" } }), 500);
      const second = assertExecuted(await app.ask({ key }));
      assertReplayed(await app.ask({ key, plan: { throws: "before" } }), second);
      assert.equal(app.effects(), 1);
    },
    "E-03 stripe: keeps a 500 and replays it": async (app) => {
      const key = "e-03-stripe";
      const first = assertExecuted(await app.ask({ to: "stripe", key, plan: { throws: "before" } }), 500);
      assertReplayed(await app.ask({ to: "stripe", key }), first, { marker: "idempotent-replayed" });
      assert.equal(app.effects(), 0);
    },
    "E-04 hold: an effect followed by a throw, a 503 or a 504 is never run again under hold": async (app) => {
      for (const plan of [{ throws: "after" }, { status: 503 }, { status: 504 }] as const) {
        const key = freshKey();
        const before = app.effects();
        const first = await app.ask({ to: "hold", key, plan });
        assertExecuted(first, plan.status ?? 500);
        for (let retry = 0; retry < 2; retry += 1) {
          assertRefused(await app.ask({ to: "hold", key }), 409, "outcome-unknown");
        }
        assert.equal(app.effects() - before, 1);
      }
    },
    "E-04 rerun: a plain handler under rerun runs again, as its owner chose": async (app, key) => {
      assertExecuted(await app.ask({ key, plan: { throws: "after" } }), 500);
      await keeps(app, { key });
      assert.equal(app.effects(), 2);
    },
    "E-04 steps: a finished step is not repeated: the retry resumes and finishes": async (app, key) => {
      assertExecuted(await app.ask({ key, plan: { step: "charge", throws: "after" } }), 500);
      const second = assertExecuted(await app.ask({ key, plan: { step: "charge" } }));
      assertReplayed(await app.ask({ key, plan: { step: "charge" } }), second);
      assert.equal(app.effects(), 1);
    },
    "E-04 steps held: a finished step says nothing of the rest: under hold a throw after it holds": async (
      app,
      key,
    ) => {
      assertExecuted(await app.ask({ to: "hold", key, plan: { step: "charge", throws: "after" } }), 500);
      assertRefused(await app.ask({ to: "hold", key, plan: { step: "charge" } }), 409, "outcome-unknown");
      assert.equal(app.effects(), 1);
    },
    "E-04 open: an open outcome answers its interim answer or 409, without the marker": async (app) => {
      for (const [to, status] of [
        ["adr-007", 202],
        ["polling", 202],
        ["create", 409],
      ] as const) {
        const key = "4e1b1c4e-7a8f-4a37-9b63-3d0d5dbd5b0e";
        const before = app.effects();
        assert.equal(assertExecuted(await app.ask({ to, key, plan: { unknown: true } }), 202).json()["state"], "open");
        const retry = await app.ask({ to, key });
        if (status === 409) assertRefused(retry, 409, "outcome-unknown");
        else assert.equal(assertExecuted(retry, 202).json()["state"], "open");
        assert.equal(app.effects() - before, 1);
      }
    },
    "E-05: a client that leaves does not stop the recording, however the answer is written": async (app, key, rig) => {
      for (const way of ["send", ...rig.subject.ways.filter(isReplayed)]) {
        const key = freshKey();
        const before = app.effects();
        const options: Ask = { key, plan: { gate: `e-05 ${way}`, way, content: { text: 20_000 } } };
        const socket = await sendRaw(app.port, requestText(options));
        await app.gates.reached(`e-05 ${way}`);
        socket.destroy();
        await new Promise((resolve) => setTimeout(resolve, 20));
        assertRefused(await app.ask(options), 409, "idempotency-in-flight");
        app.gates.open(`e-05 ${way}`);
        const reply = await askUntilSettled(app, options);
        assert.equal(reply.status, 201, `${way}: ${reply.body.toString().slice(0, 200)}`);
        assert.equal(reply.header("idempotency-replayed"), "true", way);
        if (way !== "void") assert.equal(String(reply.json()["text"]).length, 20_000, way);
        assert.equal(app.effects() - before, 1, way);
      }
      assert.equal(await unfinishedIn(rig), 0);
    },
    "E-05 half: a client that leaves before its request is complete claims nothing": async (app, key, rig) => {
      const socket = await sendRaw(app.port, requestText({ key }, 5));
      await new Promise((resolve) => setTimeout(resolve, 50));
      socket.destroy();
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.deepEqual([app.effects(), (await rig.store.stats()).records], [0, 0]);
      assertExecuted(await app.ask({ key }));
      assert.equal(app.effects(), 1);
    },
  }),
  ...defineCases({
    "E-04 verify: an effect that verify finds is answered from it and not run again": async (rig, key) => {
      const response = { status: 201, headers: { location: "/things/found" }, body: { id: "found" } };
      const verdicts = [{ verdict: "not-visible-yet" }, { verdict: "found", response }] as const;
      let asked = 0;
      const verify = (): (typeof verdicts)[number] => {
        const verdict = verdicts[asked] ?? verdicts[1];
        asked += 1;
        return verdict;
      };
      const app = await rig.start({ routes: { verify: { onUnknown: { verify } } } });
      assertExecuted(await app.ask({ to: "verify", key, plan: { throws: "after" } }), 500);
      const problem = assertRefused(await app.ask({ to: "verify", key }), 409, "outcome-unknown");
      assert.equal(problem["retryable"], true);
      for (let retry = 0; retry < 2; retry += 1) {
        const reply = await app.ask({ to: "verify", key });
        assert.deepEqual([reply.status, reply.header("location"), reply.json()["id"]], [201, "/things/found", "found"]);
      }
      assert.equal(app.effects(), 1);
    },
    "E-07: an owner that died before its effect is replaced after its lease, and not before": async (rig, key) => {
      const dead = await dyingAt(rig, "before-handler", { key }, "rerun");
      const app = await rig.start({ store: rig.second, engine: { leaseMs } });
      assertRefused(await app.ask({ key }), 409, "idempotency-in-flight");
      const reply = assertExecuted(await askUntilSettled(app, { key }));
      assertReplayed(await app.ask({ key }), reply);
      assert.deepEqual([dead.effects(), app.effects()], [0, 1]);
    },
    "E-08 hold: an owner that died between effect and record leaves an open outcome, never a second run": async (
      rig,
      key,
    ) => {
      const dead = await dyingAt(rig, "before-complete", { key }, "hold");
      const app = await rig.start({ store: rig.second, engine: { leaseMs, onUnknown: "hold" } });
      assertRefused(await app.ask({ key }), 409, "idempotency-in-flight");
      for (let retry = 0; retry < 2; retry += 1) {
        assertRefused(await askUntilSettled(app, { key }), 409, "outcome-unknown");
      }
      assert.deepEqual([dead.effects(), app.effects()], [1, 0]);
    },
    "E-09 claim: an unreachable store refuses before the effect; the retry runs": async (rig, key) => {
      const store = faultyStore(rig.store);
      const app = await rig.start({ store });
      store.break(["claim"], "refuse");
      for (let attempt = 0; attempt < 2; attempt += 1) {
        assertRefused(await app.ask({ key }), 503, "store-unavailable");
      }
      assert.equal(app.effects(), 0);
      store.heal();
      assertExecuted(await app.ask({ key }));
      assert.equal(app.effects(), 1);
    },
    "E-09 record: a store lost at recording leaves the key in flight until it is back, also after the lease": async (
      rig,
    ) => {
      const store = faultyStore(rig.store);
      const app = await rig.start({ store, engine: { leaseMs, onUnknown: "hold" } });
      const [back, lapsed] = [freshKey(), freshKey()];
      store.break(["complete"], "refuse", 2);
      const first = assertExecuted(await app.ask({ key: back }));
      assert.equal(first.header("idempotency-stored"), "false");
      const replay = await askUntilSettled(app, { key: back });
      assert.deepEqual([replay.status, replay.header("idempotency-replayed")], [201, "true"]);
      assert.ok(replay.body.equals(first.body));
      store.break(["complete", "renew"], "refuse");
      const second = assertExecuted(await app.ask({ key: lapsed }));
      assert.equal(second.header("idempotency-stored"), "false");
      await eventually("the lease to lapse", async () => {
        const [record] = (await rig.store.list({ key: JSON.parse(lapsed) as string, limit: 1 })).records;
        return (record?.leaseLeftMs ?? 1) <= 0;
      });
      assertRefused(await app.ask({ key: lapsed }), 409, "idempotency-in-flight");
      store.heal();
      assertReplayed(await askUntilSettled(app, { key: lapsed }), second);
      assert.equal(app.effects(), 2);
    },
  }),
  ...casesNeeding(["transactions"], {
    "E-03 transaction: a throw whose transaction rolled back runs again under rerun, and holds under hold": async (
      rig,
      key,
    ) => {
      const app = await rig.start();
      for (const to of ["create", "hold"] as const) {
        assertExecuted(await app.ask({ to, key, plan: { transaction: true, throws: "after" } }), 500);
      }
      assert.equal(await rig.committedEffects(), 0);
      const second = assertExecuted(await app.ask({ key, plan: { transaction: true } }));
      assertReplayed(await app.ask({ key, plan: { transaction: true } }), second);
      assertRefused(await app.ask({ to: "hold", key, plan: { transaction: true } }), 409, "outcome-unknown");
      assert.equal(await rig.committedEffects(), 1);
    },
    "E-08 transaction: an answer committed with the effect is replayed although its owner died": async (rig, key) => {
      const plan = { transaction: true };
      await dyingAt(rig, "after-commit", { key, plan }, "rerun");
      const app = await rig.start({ store: rig.second, engine: { leaseMs } });
      const reply = await askUntilSettled(app, { key, plan });
      assert.deepEqual([reply.status, reply.header("idempotency-replayed")], [201, "true"]);
      assert.equal(await rig.committedEffects(), 1);
    },
  }),
];
