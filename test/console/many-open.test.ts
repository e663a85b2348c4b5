/** More open outcomes than one page of a store: the oldest is what a person must see. */
import { setTimeout as sleep } from "node:timers/promises";
import { createIchido } from "ichido";
import { openSqliteStore } from "ichido/sqlite";
import { expect, test } from "vitest";
import type { UnknownAnswer } from "../../packages/ichido/src/console/contract.ts";
import { visit } from "./visitor.ts";

const scope = { principal: "p" };

test("of many open outcomes the oldest comes first, wherever its key stands in the store", async () => {
  const store = await openSqliteStore(":memory:", { migrate: true });
  const ichido = createIchido({ store, scope: () => scope, onUnknown: "hold", attemptLog: false });
  const leaveOpen = (key: string): Promise<unknown> =>
    ichido.run({ operation: "pay", scope, key }, () => Promise.reject(new Error("no answer"))).catch(() => undefined);
  await leaveOpen("zzzz-the-last-of-all-keys");
  await sleep(20);
  for (let number = 0; number < 1_200; number += 1) await leaveOpen(`aaaa-a-newer-key-${number}`);
  const visitor = visit(ichido, { can: ["read"] });
  const { body } = await visitor.get<UnknownAnswer>("api/unknown");
  const oldest = await visitor.recordOf("zzzz-the-last-of-all-keys");
  expect(body.records[0]?.id).toBe(oldest.id);
  expect([body.records.length, body.searched, body.isCut]).toEqual([1_000, 1_201, false]);
  visitor.console.close();
  await ichido.close();
  await store.close();
});
