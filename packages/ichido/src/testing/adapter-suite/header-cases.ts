/** H: what a key may look like in the header (RFC 9651 strings, and the bare text most clients send). */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { appCases, type AdapterCase } from "./case.ts";
import { rawStatus, requestText } from "./client.ts";
import { keeps } from "./repeats.ts";
import { assertExecuted, assertRefused, assertReplayed, type App } from "./rig.ts";
import type { RouteName } from "./routes.ts";

async function refusesKey(app: App, key: string | readonly string[], to: RouteName = "create"): Promise<void> {
  assertRefused(await app.ask({ to, key }), 400, "idempotency-key-invalid");
}

/** Characters that a client library would not send. */
const rawInQuotes: Readonly<Record<string, string>> = {
  "raw UTF-8": '"caf\u00c3\u00a9"',
  "a Latin-1 byte": '"caf\u00e9"',
  "a tab": '"a\tb"',
  DEL: '"a\u007fb"',
  "a control": '"a\u0001b"',
};

export const headerCases: readonly AdapterCase[] = [
  ...Object.entries(rawInQuotes).flatMap(([name, key]) =>
    appCases({
      [`H-07 ${name}: inside the quotes is refused`]: async (app) => {
        for (const to of ["create", "strict"] as const) {
          assert.equal(await rawStatus(app.port, requestText({ to, key })), 400);
        }
        assert.equal(app.effects(), 0);
      },
    }),
  ),
  ...appCases({
    "H-01: a quoted key is accepted, and is the text without its quotes": async (app, key, rig) => {
      assertExecuted(await app.ask({ key: '"8e03978e-40d5-43e8-bc93-6894a57f9324"' }));
      const { records } = await rig.store.list({ key: "8e03978e-40d5-43e8-bc93-6894a57f9324", limit: 10 });
      assert.equal(records.length, 1);
    },
    "H-02: bare UUIDs are accepted alike, whether they begin with a digit or a letter": async (app) => {
      for (const key of ["8e03978e-40d5-43e8-bc93-6894a57f9324", "ae03978e-40d5-43e8-bc93-6894a57f9324"]) {
        await keeps(app, { key });
      }
      assert.equal(app.effects(), 2);
    },
    "H-02 strict: strict key form refuses bare UUIDs alike": async (app) => {
      for (const key of ["8e03978e-40d5-43e8-bc93-6894a57f9324", "ae03978e-40d5-43e8-bc93-6894a57f9324"]) {
        await refusesKey(app, key, "strict");
      }
      assertExecuted(await app.ask({ to: "strict", key: `"${randomUUID()}"` }));
      assert.equal(app.effects(), 1);
    },
    "H-03: the quoted and the bare form are one key; strict key form refuses the bare one": async (app) => {
      const bare = `k1-${randomUUID()}`;
      const first = assertExecuted(await app.ask({ key: `"${bare}"` }));
      assertReplayed(await app.ask({ key: bare }), first);
      assertExecuted(await app.ask({ to: "strict", key: `"${bare}"` }));
      await refusesKey(app, bare, "strict");
      assert.equal(app.effects(), 2);
    },
    "H-04: parameters are ignored; the bare key form of stripe refuses them": async (app) => {
      const first = assertExecuted(await app.ask({ key: '"h04"' }));
      for (const key of ['"h04";v=1;grease', '"h04"; a="x;y,z"', '"h04";t=?1'])
        assertReplayed(await app.ask({ key }), first);
      await refusesKey(app, '"h04";v=1', "stripe");
      assert.equal(app.effects(), 1);
    },
    "H-05: an empty key is refused, quoted or not": async (app) => {
      for (const to of ["create", "strict", "stripe", "adr-007"] as const) {
        for (const key of ['""', "", "   ", "\t"]) await refusesKey(app, key, to);
      }
      assert.equal(app.effects(), 0);
    },
    "H-06: 255 characters are a key, 256 are not, and nothing is cut": async (app) => {
      const longest = "k".repeat(255);
      const first = assertExecuted(await app.ask({ key: `"${longest}"` }));
      await refusesKey(app, `"${longest}x"`);
      await refusesKey(app, `${longest}x`);
      assertReplayed(await app.ask({ key: longest }), first);
      // The length is counted after unescaping.
      assertExecuted(await app.ask({ key: `"${"\\\\".repeat(255)}"` }));
      await refusesKey(app, `"${"\\\\".repeat(256)}"`);
      assert.equal(app.effects(), 2);
    },
    "H-08: two keys are refused: as two lines, equal or not, and as a proxy merges them": async (app) => {
      for (const to of ["create", "strict", "stripe"] as const) {
        for (const key of [['"a"', '"b"'], ['"a', 'b"'], ['"a"', '"a"'], ["a", "a"], '"a", "b"', '"a","a"', "a,b"]) {
          await refusesKey(app, key, to);
        }
      }
      assert.equal(app.effects(), 0);
    },
    "H-09: a comma or semicolon inside quotes is part of the key; a bare list is refused": async (app) => {
      await keeps(app, { key: '"a,b;c"' });
      await refusesKey(app, "a, b");
      assert.equal(app.effects(), 1);
    },
    "H-10: escapes are those of structured strings, and nothing may follow the closing quote": async (
      app,
      key,
      rig,
    ) => {
      for (const to of ["create", "strict"] as const) {
        assertExecuted(await app.ask({ to, key: '"a\\"b\\\\c"' }));
        for (const key of ['"a\\x"', '"abc', '"abc"x', '"a" "b"', '"a\\']) await refusesKey(app, key, to);
      }
      const { records } = await rig.store.list({ key: 'a"b\\c', limit: 10 });
      assert.equal(records.length, 2);
      assert.equal(app.effects(), 2);
    },
    "H-11: strict key form refuses every other structured type": async (app) => {
      for (const key of ["123", "1.5", "?1", ":YWJj:", "@1", '%"x"', '("a")', "token"])
        await refusesKey(app, key, "strict");
      assert.equal(app.effects(), 0);
    },
    "H-13: case and inner spaces matter": async (app) => {
      for (const key of ['"Ab"', '"ab"', '"Ab "', '" Ab"']) assertExecuted(await app.ask({ key }));
      assert.equal(app.effects(), 4);
    },
    "H-13 adr-007: takes UUIDs of version 4 alone, in any case": async (app) => {
      const key = randomUUID();
      const first = assertExecuted(await app.ask({ to: "adr-007", key }));
      assertReplayed(await app.ask({ to: "adr-007", key: key.toUpperCase() }), first, { status: 200 });
      assertReplayed(await app.ask({ to: "adr-007", key: `"${key.toUpperCase()}"` }), first, { status: 200 });
      for (const other of [
        "k1",
        "00000000-0000-1000-8000-000000000000",
        "018f3c5e-7b1a-7c3d-8e4f-5a6b7c8d9e0f",
        `${key}0`,
      ]) {
        await refusesKey(app, other, "adr-007");
      }
      assert.equal(app.effects(), 1);
    },
  }),
];
