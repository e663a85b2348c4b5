/** Tickets about many records, and many people with tickets: none is refused by the console's own queue. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIchido, type Ichido } from "ichido";
import { memoryStore } from "ichido/memory";
import type { AskAnswer } from "../../packages/ichido/src/console/contract.ts";
import { eventually } from "../support/eventually.ts";
import { visit, type Visitor } from "./visitor.ts";

const payments = 700;
let ichido: Ichido;
let visitor: Visitor;

beforeAll(async () => {
  const store = memoryStore();
  const scope = { principal: "u" };
  ichido = createIchido({ store, scope: () => scope, onUnknown: "hold", attemptLog: { flushMs: 20 } });
  await Promise.all(
    Array.from({ length: payments }, (_, number) =>
      ichido.run(
        {
          operation: "pay",
          scope,
          key: `order-${number}`,
          input: { number },
          labels: { customer: `c${number % 5}` },
        },
        () => ({ amount: 1_000 + number }),
      ),
    ),
  );
  await eventually(async () => expect((await store.follow({ limit: 1_000 })).entries).toHaveLength(payments));
  visitor = visit(ichido);
}, 30_000);
afterAll(async () => {
  visitor.console.close();
  await ichido.close();
});

test("an amount among hundreds of payments of ten minutes is found", async () => {
  const at = new Date().toISOString();
  const { status, body } = await visitor.get<AskAnswer>(`api/ask?amount=1007&at=${at}`);
  expect([status, body.keys?.length]).toEqual([200, 1]);
});

test("five people ask at once about customers with more than a hundred records each", async () => {
  const asked = await Promise.all(Array.from({ length: 5 }, (_, at) => visitor.get<AskAnswer>(`api/ask?text=c${at}`)));
  expect(asked.map(({ status, body }) => [status, body.keys?.length])).toEqual(asked.map(() => [200, 50]));
});
