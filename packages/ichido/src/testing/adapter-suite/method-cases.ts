/** M, P, X: methods, the form of errors, and conditional requests. */
import assert from "node:assert/strict";
import { appCases, defineCases, type AdapterCase } from "./case.ts";
import type { Reply } from "./client.ts";
import { faultyStore } from "./faulty-store.ts";
import { keeps } from "./repeats.ts";
import { assertExecuted, assertRefused, assertReplayed, freshKey } from "./rig.ts";
import { bodyBytesMaxSmall } from "./routes.ts";

export const methodCases: readonly AdapterCase[] = [
  ...["GET", "HEAD", "QUERY"].flatMap((method) =>
    appCases({
      [`M-01 ${method}: ignores the key, even a malformed one, and shows live state`]: async (app, key, rig) => {
        for (const key of ['"m-01"', '"m-01', "a, b"]) {
          const seen = [await app.ask({ method, key, content: "" }), await app.ask({ method, key, content: "" })];
          for (const reply of seen) assertExecuted(reply);
          assert.notEqual(seen[0]?.header("etag"), seen[1]?.header("etag"));
          if (method === "HEAD") assert.equal(seen[0]?.body.length, 0);
        }
        assert.equal(app.effects(), 6);
        assert.equal((await rig.store.stats()).records, 0);
      },
    }),
  ),
  ...["PUT", "DELETE"].flatMap((method) =>
    appCases({
      [`M-02 ${method}: is left to its own idempotence by default, and replayed where asked for`]: async (app, key) => {
        assertExecuted(await app.ask({ method, key }));
        assertExecuted(await app.ask({ method, key }));
        assert.equal(app.effects(), 2);
        const plan = { status: 204, content: { none: true }, headers: [] } as const;
        const first = assertExecuted(await app.ask({ to: "unsafe", method, key, plan }), 204);
        assertReplayed(await app.ask({ to: "unsafe", method, key, plan }), first);
        // No key is required of these methods.
        assertExecuted(await app.ask({ to: "unsafe", method, key: null, plan }), 204);
        assert.equal(app.effects(), 4);
      },
    }),
  ),
  ...appCases({
    "M-02 PATCH: is protected like POST": async (app, key) => {
      await keeps(app, { method: "PATCH", key });
      assertRefused(await app.ask({ method: "POST", key }), 422, "idempotency-key-reused");
      assertRefused(await app.ask({ method: "PATCH", key: null }), 400, "idempotency-key-required");
      assert.equal(app.effects(), 1);
    },
    "X-01: a conditional change that succeeded is replayed, not refused by its own effect": async (app, key) => {
      const ask = {
        method: "PATCH",
        to: "create/7",
        key,
        headers: { "if-match": '"v1"' },
        plan: { conditional: true, status: 200 },
      };
      const first = assertExecuted(await app.ask(ask), 200);
      assertReplayed(await app.ask(ask), first);
      assertExecuted(await app.ask({ ...ask, key: freshKey() }), 412);
      assert.equal(app.effects(), 1);
    },
    "X-03: a failed precondition leaves the key free for the corrected request": async (app, key) => {
      const ask = { method: "PATCH", to: "create/7", key, plan: { conditional: true, status: 200 } };
      assertExecuted(await app.ask(ask), 428);
      assertExecuted(await app.ask({ ...ask, headers: { "if-match": '"v9"' } }), 412);
      const first = assertExecuted(await app.ask({ ...ask, headers: { "if-match": '"v1"' } }), 200);
      assertReplayed(await app.ask({ ...ask, headers: { "if-match": '"v1"' } }), first);
      assert.equal(app.effects(), 1);
    },
  }),
  ...defineCases({
    "P-01: every error of the layer is a problem of its own type and stays the same when repeated": async (rig) => {
      const store = faultyStore(rig.store);
      const app = await rig.start({ store });
      const [done, slow, held, big] = [freshKey(), freshKey(), freshKey(), freshKey()];
      assertExecuted(await app.ask({ key: done }));
      assertExecuted(await app.ask({ to: "hold", key: held, plan: { throws: "after" } }), 500);
      await app.ask({ to: "small", key: big, plan: { content: { random: bodyBytesMaxSmall + 1, seed: 1 } } });
      const running = app.ask({ key: slow, plan: { gate: "slow" } });
      await app.gates.reached("slow");
      const types = new Set<unknown>();
      const inspect = async (
        code: Parameters<typeof assertRefused>[2],
        status: number,
        ask: () => Promise<Reply>,
      ): Promise<void> => {
        const [first, second] = [assertRefused(await ask(), status, code), assertRefused(await ask(), status, code)];
        assert.deepEqual(first, second);
        assert.equal(typeof first["title"], "string");
        assert.ok(!JSON.stringify(first).includes(done.slice(1, -1)), "no stored data is echoed");
        types.add(first["type"]);
      };
      await inspect("idempotency-key-required", 400, () => app.ask({ key: null }));
      await inspect("idempotency-key-invalid", 400, () => app.ask({ key: '"open' }));
      await inspect("idempotency-key-reused", 422, () => app.ask({ key: done, json: { amount: 1 } }));
      await inspect("idempotency-in-flight", 409, () => app.ask({ key: slow }));
      await inspect("outcome-unknown", 409, () => app.ask({ to: "hold", key: held }));
      await inspect("response-not-stored", 409, () => app.ask({ to: "small", key: big }));
      store.break(["claim"], "refuse");
      await inspect("store-unavailable", 503, () => app.ask({ key: done }));
      store.heal();
      assert.equal(types.size, 7);
      app.gates.open("slow");
      await running;
    },
    "P-01 envelope: another envelope can be set for all of them": async (rig) => {
      const formatProblem = (problem: { readonly code: string }): { contentType: string; body: string } => ({
        contentType: "application/json",
        body: JSON.stringify({ error: { code: problem.code.toUpperCase().replaceAll("-", "_") } }),
      });
      const app = await rig.start({ engine: { formatProblem } });
      const reply = await app.ask({ key: null });
      assert.equal(reply.status, 400);
      assert.deepEqual(reply.json(), { error: { code: "IDEMPOTENCY_KEY_REQUIRED" } });
    },
  }),
];
