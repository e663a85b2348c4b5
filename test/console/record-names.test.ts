/** The id that tables show: who may only look cannot try keys that they guess against it. */
import { createIchido } from "ichido";
import { memoryStore } from "ichido/memory";
import { expect, test } from "vitest";
import { recordNames } from "../../packages/ichido/src/operations/masked-key.ts";
import { visit } from "./visitor.ts";

const scope = { principal: "p" };

test.each([undefined, "a secret that is long enough for operation ids"])("with the secret %s", async (secret) => {
  const store = memoryStore();
  const given = secret === undefined ? {} : { operationIdSecret: secret };
  const engines = [0, 1].map(() => createIchido({ store, scope: () => scope, onUnknown: "hold", ...given }));
  const key = "order-number-4711";
  await engines[0]?.run({ operation: "pay", scope, key }, () => 1);
  const { records } = await store.list({ key, limit: 1 });
  const visitors = engines.map((engine) => visit(engine, { can: ["read"] }));
  const [one, other] = await Promise.all(visitors.map((visitor) => visitor.recordOf(key)));
  const guess = records.map(({ identity }) => recordNames(undefined)(identity))[0];
  expect([one?.id, other?.id]).not.toContain(guess);
  // In every process, where there is a secret; else of this one alone, as links are.
  expect(one?.id === other?.id).toBe(secret !== undefined);
  for (const visitor of visitors) visitor.console.close();
  for (const engine of engines) await engine.close();
});
