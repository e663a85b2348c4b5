/** An event that is parked, or was not sent yet: Ask and `why` say so, with every handler that has it. */
import { createConsumer } from "ichido/inbox";
import { why } from "ichido/operations";
import { expect, test } from "vitest";
import type { AskAnswer } from "../../packages/ichido/src/console/contract.ts";
import { testBroker } from "../events/inbox-broker.ts";
import { message } from "../events/inbox-messages.ts";
import { forEachDatabase } from "./databases.ts";
import { visit } from "./visitor.ts";

forEachDatabase("an event that is parked", (bed) => {
  test("is told as waiting, by why and by Ask alike", async () => {
    const { ichido, inbox } = bed();
    const broker = testBroker();
    const consumer = createConsumer({
      subscription: broker.subscription,
      inbox,
      handlers: [
        { name: "ledger", topics: ["invoice.*"], once: () => Promise.reject(new Error("not yet")) },
        { name: "search", topics: ["invoice.*"], once: async () => {} },
      ],
      attemptsMax: 1_000,
      parkAfterMs: 1,
      backoffMs: 60_000,
    });
    await consumer.start();
    try {
      const first = message({ topic: "invoice.sent", key: "one" });
      const second = message({ topic: "invoice.sent", key: "one" });
      for (const each of [first, second]) await broker.deliver(each);
      const verdict = await why({ ichido, inbox }, { text: first.id });
      expect(verdict).toMatchObject({ verdict: "event-parked", severity: "warning", understood: ["event"] });
      expect(verdict.says).toContain("not been processed by ledger");
      const texts = verdict.timeline.map(({ text }) => text);
      expect(texts.toSorted()).toEqual(["ledger: parked after 1 attempt", "search: processed"]);
      const behind = await why({ ichido, inbox }, { text: second.id });
      expect(behind.timeline.map(({ text }) => text)).toContain("ledger: parked behind another event of its key");
      const visitor = visit(ichido, { inbox });
      const { body: told } = await visitor.get<AskAnswer>(`api/ask?text=${first.id}`);
      visitor.console.close();
      expect(told).toMatchObject({ verdict: verdict.verdict, says: verdict.says, next: verdict.next });
      expect(told.timeline.map(({ text }) => text)).toEqual(texts);
    } finally {
      await consumer.stop();
    }
  });

  test("in the outbox is told by Ask, too", async () => {
    const { ichido, outbox } = bed();
    const { id } = await outbox.transaction((_tx, handle) =>
      outbox.add(handle, { topic: "invoice.late", payload: 1, delayMs: 600_000 }),
    );
    const visitor = visit(ichido, { outbox });
    const { body: told } = await visitor.get<AskAnswer>(`api/ask?text=${id}`);
    visitor.console.close();
    expect(told).toMatchObject({ verdict: "event-pending", severity: "warning", understood: ["event"] });
  });
});
