/**
 * A26: layers in front that change answers as they leave. First answers, replays and refusals pass each of them once.
 */
import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { casesNeeding, type AdapterCase } from "./case.ts";
import type { Reply } from "./client.ts";
import { signatureOf } from "./harness.ts";
import type { Plan } from "./plan.ts";
import { assertExecuted, freshKey, type App, type Rig } from "./rig.ts";

const isReplay = (reply: Reply): boolean => reply.header("idempotency-replayed") === "true";

/** The way in which most handlers of the framework answer JSON. */
function wayOf({ subject }: Rig): Pick<Plan, "way"> {
  return subject.ways.includes("json") ? { way: "json" } : {};
}

async function twice(app: App, plan: Plan): Promise<{ readonly first: Reply; readonly replay: Reply }> {
  const key = freshKey();
  const first = assertExecuted(await app.ask({ key, plan }));
  const replay = await app.ask({ key, plan });
  assert.equal(isReplay(replay), true);
  return { first, replay };
}

function assertSigned(...replies: readonly Reply[]): void {
  for (const reply of replies) assert.equal(reply.header("x-signature"), signatureOf(reply.body));
  const served = replies.map((reply) => reply.lines("x-served").join());
  assert.equal(new Set(served).size, replies.length, `each is served anew: ${served.join(" | ")}`);
}

function assertAlike(first: Reply, replay: Reply): void {
  assert.equal(replay.body.toString(), first.body.toString());
  for (const name of ["content-type", "content-length", "location"]) {
    assert.deepEqual(replay.lines(name), first.lines(name), name);
  }
}

/** The content, decoded by its content coding. */
function contentOf(reply: Reply): string {
  const coding = reply.header("content-encoding");
  assert.ok(coding === undefined || coding === "gzip", coding);
  return (coding === "gzip" ? gunzipSync(reply.body) : reply.body).toString();
}

export const layerCases: readonly AdapterCase[] = [
  ...casesNeeding(["layer:signature"], {
    "A26 signature: a layer that sets lines as an answer leaves sees first answers, replays and refusals, whole":
      async (rig, key) => {
        const app = await rig.start({ layer: "signature" });
        const first = assertExecuted(await app.ask({ key, plan: wayOf(rig) }));
        const replay = await app.ask({ key });
        const reused = await app.ask({ key, json: { amount: 2 } });
        const missing = await app.ask({ key: null });
        assert.deepEqual([isReplay(replay), reused.status, missing.status], [true, 422, 400]);
        assertSigned(first, replay, reused, missing);
        assertAlike(first, replay);
        assert.equal(app.effects(), 1);
      },
  }),
  ...casesNeeding(["layer:envelope"], {
    "A26 envelope: a layer that changes content changes first answers and replays once each": async (rig) => {
      const app = await rig.start({ layer: "envelope" });
      const { first, replay } = await twice(app, { ...wayOf(rig), content: { json: { n: 1 } } });
      assert.equal(first.body.toString(), '{"data":{"n":1}}');
      assertAlike(first, replay);
      assert.equal(app.effects(), 1);
    },
  }),
  ...casesNeeding(["layer:compression"], {
    "A26 compression: the framework's usual compression codes every answer as its own client accepts": async (rig) => {
      const app = await rig.start({ layer: "compression" });
      const plan: Plan = { ...wayOf(rig), content: { text: 5_000 } };
      const text = JSON.stringify({ text: "x".repeat(5_000) });
      const accepting = (key: string, coding: string): Promise<Reply> =>
        app.ask({ key, plan, headers: { "accept-encoding": coding } });
      for (const [one, other] of [
        ["gzip", "identity"],
        ["identity", "gzip"],
      ] as const) {
        const key = freshKey();
        const first = assertExecuted(await accepting(key, one));
        const replays = [await accepting(key, one), await accepting(key, other)];
        assert.deepEqual(replays.map(isReplay), [true, true]);
        for (const reply of [first, ...replays]) assert.equal(contentOf(reply), text);
        const codings = [first, ...replays].map((reply) => reply.header("content-encoding") ?? "identity");
        assert.deepEqual(codings, [one, one, other]);
      }
      assert.equal(app.effects(), 2);
    },
  }),
  ...casesNeeding(["transactions", "layer:signature", "layer:envelope"], {
    "A26 transaction: what ctx.transaction answers passes layers in front as any answer does, first and replayed":
      async (rig) => {
        const plan: Plan = { transaction: true, content: { json: { n: 1 } } };
        const signed = await twice(await rig.start({ layer: "signature" }), plan);
        assertSigned(signed.first, signed.replay);
        assertAlike(signed.first, signed.replay);
        const wrapped = await twice(await rig.start({ layer: "envelope" }), plan);
        assert.equal(wrapped.first.body.toString(), '{"data":{"n":1}}');
        assertAlike(wrapped.first, wrapped.replay);
        assert.equal(await rig.committedEffects(), 2);
      },
  }),
];
