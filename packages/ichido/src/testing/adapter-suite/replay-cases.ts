/** R: a replay is the first answer. */
import assert from "node:assert/strict";
import type { HeaderLine, StoredResponse } from "../../core/contract/record.ts";
import type { ClaimResult, Store } from "../../core/contract/store.ts";
import { appCases, casesNeeding, defineCases, type AdapterCase } from "./case.ts";
import { contentBytes, sampleBytes, type Plan } from "./plan.ts";
import { keeps } from "./repeats.ts";
import { assertExecuted, assertRefused, assertReplayed, freshKey, type Rig } from "./rig.ts";
import type { Reply } from "./client.ts";
import { bodyBytesMaxSmall } from "./routes.ts";

/** First answer and replay of a plan; the handler ran once. */
async function twice(rig: Rig, plan: Plan, status: number): Promise<{ first: Reply; replay: Reply }> {
  const app = await rig.start();
  const key = freshKey();
  const first = assertExecuted(await app.ask({ key, plan }), status);
  const replay = assertReplayed(await app.ask({ key, plan }), first);
  assert.equal(app.effects(), 1);
  return { first, replay };
}

const longAgo = "Thu, 01 Jan 2015 00:00:00 GMT";
/** Header lines that belong to one request and its answer, and so must not come from the store. */
const oneExchange = [
  ["Age", "77"],
  ["X-Request-Id", "request-1"],
  ["Request-Id", "request-1"],
  ["X-Correlation-Id", "request-1"],
  ["Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
  ["RateLimit-Remaining", "5"],
  ["X-RateLimit-Remaining", "5"],
  ["Server-Timing", "db;dur=53"],
  ["X-Response-Time", "5ms"],
  ["WWW-Authenticate", "Bearer"],
] as const;

export const replayCases: readonly AdapterCase[] = [
  ...[303, 307].flatMap((status) =>
    defineCases({
      [`R-05 ${status}: a redirection is replayed, not followed`]: async (rig) => {
        const { replay } = await twice(
          rig,
          { status, headers: [["Location", "/elsewhere"]], content: { none: true } },
          status,
        );
        assert.equal(replay.header("location"), "/elsewhere");
      },
    }),
  ),
  ...[402, 404].flatMap((status) =>
    defineCases({
      [`R-11 ${status}: an error that the handler made is replayed`]: async (rig) => {
        await twice(rig, { status, content: { json: { error: "no" } } }, status);
      },
    }),
  ),
  ...appCases({
    "R-07: the stored representation is replayed whatever is accepted now": async (app, key) => {
      const first = assertExecuted(await app.ask({ key, headers: { accept: "application/json" } }));
      assertReplayed(await app.ask({ key, headers: { accept: "application/xml" } }), first);
      assert.equal(app.effects(), 1);
    },
    "R-10: an answer above the cap is delivered whole, and a retry is told so without running": async (
      app,
      key,
      rig,
    ) => {
      for (const way of ["send", ...(rig.subject.ways.includes("chunks") ? ["chunks"] : [])]) {
        const key = freshKey();
        const content = { random: bodyBytesMaxSmall * 40, seed: 10 };
        const plan: Plan = { content, way, headers: [["Location", "/things/big"]] };
        const before = app.effects();
        const first = assertExecuted(await app.ask({ to: "small", key, plan }));
        assert.ok(first.body.equals(sampleBytes(content.random, content.seed)));
        for (let retry = 0; retry < 2; retry += 1) {
          const problem = assertRefused(await app.ask({ to: "small", key, plan }), 409, "response-not-stored");
          assert.deepEqual(
            [problem["originalStatus"], problem["location"], problem["retryable"]],
            [201, "/things/big", false],
          );
        }
        assert.equal(app.effects() - before, 1);
      }
    },
    "R-10 cap: an answer of exactly the cap is kept": async (app, key) => {
      const plan: Plan = { content: { random: bodyBytesMaxSmall, seed: 1 } };
      await keeps(app, { to: "small", key, plan });
      assert.equal(app.effects(), 1);
    },
    "R-12: the handler's own 422 is told apart from the layer's": async (app, key) => {
      const type = "https://example.test/problems/rejected";
      const plan: Plan = {
        status: 422,
        headers: [["Content-Type", "application/problem+json"]],
        content: { json: { type, status: 422 } },
      };
      const first = assertExecuted(await app.ask({ key, plan }), 422);
      assert.equal(assertReplayed(await app.ask({ key, plan }), first).json()["type"], type);
      const layer = assertRefused(await app.ask({ key, plan, json: { amount: 1 } }), 422, "idempotency-key-reused");
      assert.notEqual(layer["type"], type);
      assert.equal(app.effects(), 1);
    },
    "R-14: CORS is computed for the present origin": async (app, key) => {
      const [one, two] = ["https://one.example", "https://two.example"];
      const preflight = await app.ask({
        method: "OPTIONS",
        content: "",
        headers: {
          origin: one,
          "access-control-request-method": "POST",
          "access-control-request-headers": "idempotency-key",
        },
      });
      assert.ok(preflight.status < 300);
      assert.match(preflight.header("access-control-allow-headers") ?? "", /idempotency-key/i);
      const first = assertExecuted(await app.ask({ key, headers: { origin: one } }));
      const replay = assertReplayed(await app.ask({ key, headers: { origin: two } }), first);
      assert.deepEqual(first.lines("access-control-allow-origin"), [one]);
      assert.deepEqual(replay.lines("access-control-allow-origin"), [two]);
      for (const reply of [first, replay]) {
        assert.match(reply.header("access-control-expose-headers") ?? "", /idempotency-replayed/i);
        assert.match(reply.header("access-control-expose-headers") ?? "", /retry-after/i);
      }
      const conflict = await app.ask({ key, json: { amount: 1 }, headers: { origin: two } });
      assert.deepEqual(conflict.lines("access-control-allow-origin"), [two]);
      assert.equal(app.effects(), 1);
    },
    "R-02 marker: a handler that passes on a marker of its own does not send it": async (app) => {
      const headers = [
        ["Idempotency-Replayed", "true"],
        ["Idempotent-Replayed", "true"],
        ["Idempotency-Stored", "false"],
        ["X-Own", "1"],
      ] as const;
      const plans: readonly Plan[] = [
        { headers },
        { headers, content: { none: true } },
        { headers, status: 404 },
        { headers, status: 503 },
        { headers, content: { random: bodyBytesMaxSmall * 4, seed: 3 } },
      ];
      for (const plan of plans) {
        const first = assertExecuted(await app.ask({ to: "small", key: freshKey(), plan }), plan.status);
        for (const [name] of headers.slice(0, 3)) assert.deepEqual(first.lines(name), [], name);
        assert.deepEqual(first.lines("x-own"), ["1"]);
      }
    },
    "R-11 challenge: a 402 with a challenge gives the key back; one without is replayed": async (app) => {
      const challenges: readonly Plan[] = [
        { headers: [["WWW-Authenticate", 'Payment id="x"']], content: { json: { error: "pay" } } },
        { headers: [["PAYMENT-REQUIRED", "eyJ4NDAyVmVyc2lvbiI6Mn0="]], content: { json: {} } },
        { content: { json: { x402Version: 1, accepts: [{ scheme: "exact" }] } } },
      ];
      for (const plan of challenges) {
        const key = freshKey();
        assertExecuted(await app.ask({ key, plan: { ...plan, status: 402, effects: 0 } }), 402);
        assertExecuted(await app.ask({ key }));
      }
      assert.equal(app.effects(), challenges.length);
    },
  }),
  ...defineCases({
    "R-01: status, Location, ETag, Last-Modified and Link are replayed": async (rig) => {
      const headers = [
        ["Location", "/things/1"],
        ["ETag", '"v1"'],
        ["Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"],
        ["Link", '</a>; rel="next"'],
        ["X-Custom", "caf\u00e9 \u00ff"],
      ] as const;
      const { first, replay } = await twice(rig, { headers }, 201);
      for (const [name, value] of headers)
        assert.deepEqual([first.lines(name), replay.lines(name)], [[value], [value]]);
    },
    "R-02: Date is fresh, and what belongs to one exchange is not replayed": async (rig) => {
      const headers = [
        ["Date", longAgo],
        ["Connection", "close"],
        ["Keep-Alive", "timeout=99"],
        ...oneExchange,
      ] as const;
      const { first, replay } = await twice(rig, { headers }, 201);
      for (const [name, value] of oneExchange) {
        assert.equal(first.header(name), value, `${name} reached the first caller`);
        assert.equal(replay.header(name), undefined, `${name} is not replayed`);
      }
      assert.equal(replay.lines("date").length, 1);
      assert.ok(Math.abs(Date.parse(replay.header("date") ?? "") - Date.now()) < 60_000);
      assert.notEqual(replay.header("keep-alive"), "timeout=99");
      assert.notEqual(first.header("x-request-serial"), replay.header("x-request-serial"));
    },
    "R-03: cookies and challenges are dropped; a comma in a header is not a list": async (rig) => {
      const cookies = ["a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT", "b=2; Path=/"];
      const disposition = 'attachment; filename="a, b.txt"';
      const headers = [
        ...cookies.map((cookie) => ["Set-Cookie", cookie] as const),
        ["Content-Disposition", disposition],
      ] as const;
      const { first, replay } = await twice(rig, { headers }, 201);
      assert.deepEqual(first.lines("set-cookie"), cookies);
      assert.deepEqual(replay.lines("set-cookie"), []);
      assert.deepEqual(
        [first.lines("content-disposition"), replay.lines("content-disposition")],
        [[disposition], [disposition]],
      );
    },
    "R-04: binary content comes back byte for byte, with its length": async (rig) => {
      const content = { random: 4_096, seed: 4 };
      const { replay } = await twice(rig, { content }, 201);
      assert.ok(replay.body.equals(contentBytes(content)));
      assert.equal(replay.header("content-length"), "4096");
    },
    "R-05 204: an answer without content is replayed without content or content fields": async (rig) => {
      const { first, replay } = await twice(rig, { status: 204, content: { none: true }, headers: [] }, 204);
      for (const reply of [first, replay]) {
        for (const name of ["content-length", "content-type", "transfer-encoding"])
          assert.equal(reply.header(name), undefined);
      }
    },
    "R-08: a handler's own 202 is final: the same 202 again, one job": async (rig) => {
      const headers = [
        ["Location", "/jobs/1"],
        ["Retry-After", "5"],
      ] as const;
      const { replay } = await twice(rig, { status: 202, headers }, 202);
      assert.equal(replay.header("location"), "/jobs/1");
    },
    "R-02 edited row: lines of framing, sessions and markers in an edited row are not sent; a status that cannot be is a problem":
      async (rig, key) => {
        const evil = [
          ["transfer-encoding", "chunked"],
          ["content-length", "3"],
          ["set-cookie", "evil=1"],
          ["access-control-allow-origin", "*"],
          ["idempotency-stored", "false"],
          ["x-own", "1"],
        ] as const;
        const edit = { status: 201, headers: evil as readonly HeaderLine[] };
        const app = await rig.start({ wrap: (store) => editedStore(store, edit) });
        const first = assertExecuted(await app.ask({ key }));
        const replay = await app.ask({ key });
        assert.deepEqual([replay.status, replay.body.equals(first.body)], [201, true]);
        for (const [name] of evil.slice(0, 5)) {
          const expected = name === "content-length" ? [String(first.body.length)] : [];
          assert.deepEqual(replay.lines(name), expected, name);
        }
        assert.equal(replay.header("x-own"), "1");
        for (const status of [0, 100, 101, 99_999, Number.NaN]) {
          Object.assign(edit, { status });
          assertRefused(await app.ask({ key }), 500, "value-not-serialisable");
        }
        assert.equal(app.effects(), 1);
      },
    "R-02 caches: a replay may be kept by nobody on the way, unless the handler said how": async (rig) => {
      const bare = await twice(rig, { headers: [] }, 201);
      assert.deepEqual(bare.replay.lines("cache-control"), ["no-store"]);
      const told = await twice(rig, { headers: [["Cache-Control", "private, max-age=60"]] }, 201);
      assert.deepEqual(told.replay.lines("cache-control"), ["private, max-age=60"]);
    },
  }),
  ...casesNeeding(["way:hints"], {
    "R-05 103: early hints reach the first caller and are not replayed": async (rig) => {
      const { first, replay } = await twice(rig, { hints: true }, 201);
      assert.deepEqual([first.informational, replay.informational], [[103], []]);
    },
  }),
  ...casesNeeding(["way:chunks"], {
    "R-09: a streamed answer within the cap is recorded whole": async (rig) => {
      const content = { random: 300_000, seed: 9 };
      const { replay } = await twice(rig, { content, way: "chunks" }, 201);
      assert.ok(replay.body.equals(contentBytes(content)));
    },
  }),
];

/** A store in which a person has edited the answer: it returns `edit` over what was stored. */
function editedStore(store: Store, edit: Partial<StoredResponse>): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "claim") return (value as () => unknown).bind(target);
      return async (...given: Parameters<Store["claim"]>): Promise<ClaimResult> => {
        const result = await target.claim(...given);
        return result.outcome === "completed" ? { ...result, response: { ...result.response, ...edit } } : result;
      };
    },
  });
}
