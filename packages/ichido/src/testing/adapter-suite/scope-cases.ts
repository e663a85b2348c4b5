/** S: whose key it is. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { appCases } from "./case.ts";
import { assertExecuted, assertRefused, assertReplayed, whileRunning } from "./rig.ts";

export const scopeCases = appCases({
  "S-01: another tenant's or user's use of a key is not visible in any way": async (app, key) => {
    const bodies = new Set<string>();
    for (const token of ["alice-1", "carol-1", "bob-1"]) {
      bodies.add(assertExecuted(await app.ask({ key, token })).body.toString());
    }
    // With other content, too: a 422 would reveal that another caller has the key.
    app.tokens.grant("dave-1", { tenant: "initech", principal: "dave" });
    bodies.add(assertExecuted(await app.ask({ key, token: "dave-1", json: { amount: 7 } })).body.toString());
    assert.equal(bodies.size, 4);
    assert.equal(app.effects(), 4);
  },
  "S-01 in flight: another tenant's running request is no conflict": async (app, key) => {
    await whileRunning(app, { key }, async () => {
      assertExecuted(await app.ask({ key, token: "carol-1" }));
    });
    assert.equal(app.effects(), 2);
  },
  "S-02: the same key on another operation runs on its own": async (app, key) => {
    const first = assertExecuted(await app.ask({ to: "create", key }));
    const second = assertExecuted(await app.ask({ to: "second", key }));
    assert.notEqual(first.body.toString(), second.body.toString());
    assertReplayed(await app.ask({ to: "create", key }), first);
    assertReplayed(await app.ask({ to: "second", key }), second);
    assert.equal(app.effects(), 2);
  },
  "S-02 stripe: has one key space per principal: another operation is a mismatch": async (app) => {
    const key = randomUUID();
    const first = assertExecuted(await app.ask({ to: "stripe", key }));
    assertRefused(await app.ask({ to: "stripe-second", key }), 400, "idempotency-key-reused");
    assertReplayed(await app.ask({ to: "stripe", key }), first, { marker: "idempotent-replayed" });
    assertExecuted(await app.ask({ to: "stripe-second", key, token: "bob-1" }));
    assert.equal(app.effects(), 2);
  },
  "S-03: parts of the identity cannot be shifted into each other": async (app) => {
    const shifted = [
      [{ tenant: "a", principal: "u" }, '"b:c"'],
      [{ tenant: "a:b", principal: "u" }, '"c"'],
      [{ tenant: "a", principal: "b" }, '"u:c"'],
      [{ tenant: "a:b" }, '"u:c"'],
      [{ principal: "a:b" }, '"u:c"'],
    ] as const;
    for (const [index, [scope, key]] of shifted.entries()) {
      const token = `shifted-${index}`;
      app.tokens.grant(token, scope);
      assertExecuted(await app.ask({ key, token }));
    }
    assert.equal(app.effects(), shifted.length);
  },
  "S-04: revoked or lowered credentials get no replay": async (app, key) => {
    const first = assertExecuted(await app.ask({ key }));
    for (const status of [401, 403] as const) {
      app.tokens.set("alice-1", status);
      const reply = await app.ask({ key });
      assert.equal(reply.status, status);
      assert.equal(reply.header("idempotency-replayed"), undefined);
      assert.ok(!reply.body.includes(String(first.json()["id"])));
    }
    app.tokens.set("alice-1", 200);
    assertReplayed(await app.ask({ key }), first);
    assert.equal(app.effects(), 1);
  },
});
