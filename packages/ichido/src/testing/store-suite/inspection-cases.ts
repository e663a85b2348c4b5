/** S26 what engines tell, and what the server is like. Both are optional verbs: a store without them passes. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { defineCases, type StoreCase } from "./case.ts";

const oldMs = 60_000;

export const inspectionCases: readonly StoreCase[] = defineCases({
  "S26-notes: the newest note of each engine is told to every process, the newest first, with its age": async (rig) => {
    const { store, second } = rig;
    if (store.noteEngine === undefined || second.engines === undefined) return;
    // Others may have told of themselves on the same tables.
    const [first, other] = [randomUUID(), randomUUID()];
    await store.noteEngine({ engine: first, text: "{}" });
    await store.noteEngine({ engine: other, text: '{"name":"ü\\u0000"}' });
    await rig.clock?.advanceMs(1);
    await store.noteEngine({ engine: first, text: '{"turn":2}' });
    const noted = (await second.engines()).filter(({ engine }) => engine === first || engine === other);
    assert.deepEqual(
      noted.map(({ engine, text }) => [engine, text]),
      [
        [first, '{"turn":2}'],
        [other, '{"name":"ü\\u0000"}'],
      ],
    );
    for (const { ageMs } of noted) assert.ok(ageMs >= 0 && ageMs < oldMs, `an age of ${ageMs} ms`);
  },
  "S26-inspect: the server is looked at without a finding that a claim would have to fear": async ({ store }) => {
    if (store.inspect === undefined) return;
    const { server, nowMs, findings } = await store.inspect();
    assert.notEqual(server, "");
    assert.ok(Number.isSafeInteger(nowMs) && nowMs > 0, `a clock at ${nowMs}`);
    const errors = findings.filter(({ severity }) => severity === "error");
    assert.deepEqual(errors, []);
  },
});
