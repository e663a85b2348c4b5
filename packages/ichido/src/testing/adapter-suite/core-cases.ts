/** K: one key, one effect. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { appCases, casesNeeding, defineCases, type AdapterCase } from "./case.ts";
import { keeps } from "./repeats.ts";
import { assertExecuted, assertRefused, assertReplayed, freshKey } from "./rig.ts";

export const coreCases: readonly AdapterCase[] = [
  ...appCases({
    "K-01: an unseen key runs once, without the marker": async (app, key) => {
      const reply = assertExecuted(await app.ask({ key }));
      assert.equal(app.effects(), 1);
      assert.ok(reply.header("location")?.startsWith("/things/"));
      assert.equal(reply.header("idempotency-stored"), undefined);
    },
    "K-02: the same request again gets the same answer with the marker, and no second effect": async (app, key) => {
      const first = assertExecuted(await app.ask({ key }));
      for (let retry = 0; retry < 3; retry += 1) assertReplayed(await app.ask({ key }), first);
      assert.equal(app.effects(), 1);
    },
    "K-02 stripe: the profile stripe marks a replay with its own header": async (app) => {
      const key = randomUUID();
      await keeps(app, { to: "stripe", key }, { marker: "idempotent-replayed" });
      assert.equal(app.effects(), 1);
    },
    "K-02 adr-007: the profile adr-007 replays a 201 as 200 and any other status unchanged": async (app) => {
      const [created, accepted] = [randomUUID(), randomUUID()];
      await keeps(app, { to: "adr-007", key: created }, { status: 200 });
      const plan = { status: 404 };
      const missing = assertExecuted(await app.ask({ to: "adr-007", key: accepted, plan }), 404);
      assertReplayed(await app.ask({ to: "adr-007", key: accepted, plan }), missing);
      assert.equal(app.effects(), 2);
    },
    "K-04: where a key is optional, requests without one all run and nothing is stored": async (app, key, rig) => {
      assertExecuted(await app.ask({ to: "optional", key: null }));
      assertExecuted(await app.ask({ to: "optional", key: null }));
      assert.equal(app.effects(), 2);
      assert.equal((await rig.store.stats()).records, 0);
      await keeps(app, { to: "optional", key });
      assert.equal(app.effects(), 3);
    },
    "K-05: two keys with the same body are two effects": async (app) => {
      const first = assertExecuted(await app.ask({ key: freshKey() }));
      const second = assertExecuted(await app.ask({ key: freshKey() }));
      assert.notEqual(first.header("location"), second.header("location"));
      assert.equal(app.effects(), 2);
    },
    "K-06: observe mode runs everything and counts what it would have done": async (app, key) => {
      assertExecuted(await app.ask({ to: "observe", key }));
      assertExecuted(await app.ask({ to: "observe", key }));
      assertExecuted(await app.ask({ to: "observe", key: null }));
      assertExecuted(await app.ask({ to: "observe", key, json: { amount: 1 } }));
      assert.equal(app.effects(), 4);
      const seen = app.events.flatMap((event) => (event.type === "request" && event.observed ? [event.outcome] : []));
      for (const outcome of ["replayed", "key_missing", "key_reused"] as const)
        assert.ok(seen.includes(outcome), outcome);
    },
  }),
  ...defineCases({
    "K-03: a missing key is refused with a type of its own and a link to the documentation": async (rig) => {
      const docsUrl = "https://docs.example/idempotency";
      const app = await rig.start({ engine: { docsUrl } });
      for (const to of ["create", "stripe", "adr-007", "polling", "strict"] as const) {
        const reply = await app.ask({ to, key: null });
        assertRefused(reply, 400, "idempotency-key-required");
        assert.equal(reply.header("link"), `<${docsUrl}>; rel="describedby"`);
      }
      assert.equal(app.effects(), 0);
    },
  }),
  ...casesNeeding(["parsed-bodies"], {
    "K-02 parsed: where only the parsed body is to be had, the same request replays too": async (rig, key) => {
      const app = await rig.start({ bodies: "parsed" });
      const first = assertExecuted(await app.ask({ key }));
      assertReplayed(await app.ask({ key, content: '{ "currency": "EUR", "amount": 1.0e2 }' }), first);
      assertRefused(await app.ask({ key, json: { amount: 101, currency: "EUR" } }), 422, "idempotency-key-reused");
      assert.equal(app.effects(), 1);
    },
  }),
];
