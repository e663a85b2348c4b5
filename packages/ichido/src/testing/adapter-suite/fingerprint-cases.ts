/** F: what counts as the same request. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { appCases, defineCases, type AdapterCase } from "./case.ts";
import type { Ask } from "./client.ts";
import { assertExecuted, assertRefused, assertReplayed, freshKey, type Rig } from "./rig.ts";

type Retry = { readonly same?: readonly Ask[]; readonly other?: readonly Ask[] };

/** Sends the first request, then each retry under the same key; retries that differ in content must change nothing. */
async function compare(
  rig: Rig,
  first: Ask,
  { same = [], other = [] }: Retry,
  to: Ask["to"] = "create",
): Promise<void> {
  const app = await rig.start();
  const key = freshKey();
  const reply = assertExecuted(await app.ask({ to, ...first, key }));
  for (const retry of same) assertReplayed(await app.ask({ to, ...retry, key }), reply);
  for (const retry of other) assertRefused(await app.ask({ to, ...retry, key }), 422, "idempotency-key-reused");
  assertReplayed(await app.ask({ to, ...first, key }), reply);
  assert.equal(app.effects(), 1);
}

const text = (...contents: readonly string[]): readonly Ask[] => contents.map((content) => ({ content }));
const typed = (type: string, content: string | Uint8Array): Ask => ({ content, headers: { "content-type": type } });

export const fingerprintCases: readonly AdapterCase[] = [
  ...(
    [
      ["stripe", 400],
      ["adr-007", 409],
      ["polling", 409],
    ] as const
  ).flatMap(([to, status]) =>
    appCases({
      [`F-01 ${to}: answers other content with ${status}`]: async (app) => {
        const key = randomUUID();
        assertExecuted(await app.ask({ to, key, json: { amount: 100 } }));
        assertRefused(await app.ask({ to, key, json: { amount: 200 } }), status, "idempotency-key-reused");
        assert.equal(app.effects(), 1);
      },
    }),
  ),
  ...appCases({
    "F-01: other content is refused and not run": async (app, key) => {
      assertExecuted(await app.ask({ key, json: { amount: 100 } }));
      const problem = assertRefused(await app.ask({ key, json: { amount: 200 } }), 422, "idempotency-key-reused");
      assert.equal(problem["retryable"], false);
      assert.equal(app.effects(), 1);
    },
  }),
  ...defineCases({
    "F-02: a mismatch never alters the record": (rig) =>
      compare(rig, { json: { amount: 100 } }, { other: [{ json: { amount: 200 } }, { json: {} }, { content: "" }] }),
    "F-03: member order and white space do not matter, array order does": (rig) =>
      compare(
        rig,
        { content: '{"a":{"x":1,"y":[1,2]},"b":2}' },
        {
          same: text('{"b":2,"a":{"y":[1,2],"x":1}}', '{ "a" : { "x":1,\n"y":[1, 2]},\t"b":2 }\n'),
          other: text(
            '{"a":{"x":1,"y":[2,1]},"b":2}',
            '{"a":{"x":1,"y":[1,2]},"b":3}',
            '{"a":{"x":2,"y":[1,2]},"b":2}',
          ),
        },
      ),
    "F-03 bytes: where bytes are compared, order and white space matter": (rig) =>
      compare(rig, { content: '{"a":1,"b":2}' }, { other: text('{"b":2,"a":1}', '{"a": 1,"b":2}') }, "bytes"),
    "F-03 fields: where fields are chosen, others do not count": (rig) =>
      compare(
        rig,
        { json: { amount: 1, note: "a" } },
        {
          same: [{ json: { note: "b", amount: 1 } }],
          other: [{ json: { amount: 2, note: "a" } }],
        },
        "amount",
      ),
    "F-04: numbers are compared by value": (rig) =>
      compare(
        rig,
        { content: '{"a":1,"b":0}' },
        { same: text('{"a":1.0,"b":0}', '{"a":1e0,"b":-0}', '{"a":10E-1,"b":0.0}') },
      ),
    "F-05: numbers beyond a double stay apart": async (rig) => {
      await compare(rig, { content: '{"a":9007199254740992}' }, { other: text('{"a":9007199254740993}') });
      await compare(rig, { content: '{"a":0.1}' }, { other: text('{"a":0.10000000000000000001}') });
    },
    "F-06: escapes are the characters they stand for; nothing is normalised": (rig) =>
      compare(
        rig,
        { content: '{"a":"\u00e9"}' },
        {
          same: text('{"a":"\\u00e9"}', '{"\\u0061":"\\u00E9"}'),
          other: text('{"a":"e\u0301"}', '{"a":"\\u0065\\u0301"}'),
        },
      ),
    "F-08: empty is absent, an empty object is not, and framing does not matter": async (rig) => {
      await compare(
        rig,
        { content: "" },
        {
          same: [
            { content: "", headers: { "content-length": "0" } },
            { content: "", chunked: true },
          ],
          other: text("{}"),
        },
      );
      await compare(rig, { content: '{"a":1}' }, { same: [{ content: '{"a":1}', chunked: true }] });
    },
    "F-09: a charset parameter does not matter, another media type does": (rig) =>
      compare(rig, typed("application/json", '{"a":1}'), {
        same: [typed("application/json; charset=utf-8", '{"a":1}'), typed("Application/JSON", '{"a":1}')],
        other: [typed("application/x-www-form-urlencoded", '{"a":1}'), typed("text/plain", '{"a":1}')],
      }),
    "F-12: binary content is compared to the last bit": (rig) => {
      const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
      const flipped = bytes.map((value, index) => (index === 200 ? value ^ 1 : value));
      const octets = (content: Uint8Array): Ask => typed("application/octet-stream", content);
      return compare(rig, octets(bytes), {
        same: [octets(bytes)],
        other: [octets(flipped), octets(bytes.subarray(0, 255))],
      });
    },
    "F-13: content codings do not matter, their content does": (rig) => {
      const coded = (content: string, level: number): Ask => ({
        content: gzipSync(content, { level }),
        headers: { "content-encoding": "gzip" },
      });
      const content = JSON.stringify({ a: "x".repeat(500) });
      return compare(rig, coded(content, 9), {
        same: [coded(content, 1), { content }],
        other: [coded(`${content.slice(0, -2)}y"}`, 9)],
      });
    },
    "F-14: other headers and a renewed token do not matter": (rig) => {
      const headers = (suffix: string): NonNullable<Ask["headers"]> => ({
        "user-agent": `agent/${suffix}`,
        traceparent: `00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333${suffix}-01`,
        date: `Thu, 0${suffix} Jan 2026 00:00:00 GMT`,
        "x-signature-timestamp": suffix,
        accept: suffix === "1" ? "application/json" : "*/*",
      });
      return compare(rig, { headers: headers("1") }, { same: [{ headers: headers("2"), token: "alice-2" }] });
    },
  }),
];
