/** More records than one page of a store: the oldest open outcome and the newest record are what a person must see. */
import { setTimeout as sleep } from "node:timers/promises";
import { createIchido } from "ichido";
import { openSqliteStore } from "ichido/sqlite";
import { expect, test, vi } from "vitest";
import type { AskAnswer, KeysAnswer, UnknownAnswer } from "../../packages/ichido/src/console/contract.ts";
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

test("records of an age are found among thousands of others, in whole pages", async () => {
  const store = await openSqliteStore(":memory:", { migrate: true });
  const ichido = createIchido({ store, scope: () => scope, onUnknown: "hold", attemptLog: false });
  const run = (key: string): Promise<unknown> => ichido.run({ operation: "pay", scope, key }, () => 1);
  for (let number = 0; number < 2_500; number += 1) await run(`aaaa-an-older-key-${number}`);
  await sleep(1_500);
  const startedMs = Date.now();
  for (let number = 0; number < 5; number += 1) await run(`zzzz-a-newer-key-${number}`);
  const visitor = visit(ichido, { can: ["read"] });
  // A page also ends when it took a tenth of a second: not here, however slow the machine is.
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  const seen: string[] = [];
  const pages: number[] = [];
  let cursor: string | undefined;
  do {
    const age = Date.now() - startedMs + 700;
    const path = `api/keys?newerThanMs=${age}&limit=2${cursor === undefined ? "" : `&cursor=${cursor}`}`;
    const { body } = await visitor.get<KeysAnswer>(path);
    seen.push(...body.records.map(({ id }) => id));
    pages.push(body.records.length);
    ({ cursor } = body);
  } while (cursor !== undefined && pages.length < 20);
  clock.mockRestore();
  expect([new Set(seen).size, seen.length]).toEqual([5, 5]);
  expect(pages.slice(0, 3)).toEqual([2, 2, 1]);
  visitor.console.close();
  await ichido.close();
  await store.close();
});

test("when a provider was asked is told by the store's clock, as everything beside it is", async () => {
  const real = await openSqliteStore(":memory:", { migrate: true });
  const aheadMs = 600_000;
  const inspect = async () => ({ ...(await real.inspect?.()), nowMs: Date.now() + aheadMs });
  const store = new Proxy(real, { get: (of, name) => (name === "inspect" ? inspect : Reflect.get(of, name, of)) });
  const visitor = visit({ store }, { can: ["read"] });
  const { body } = await visitor.get<AskAnswer>("api/ask?text=nothing-of-ours");
  expect(Date.parse(body.askedAt)).toBeGreaterThan(Date.now() + aheadMs - 60_000);
  visitor.console.close();
  await real.close();
});
