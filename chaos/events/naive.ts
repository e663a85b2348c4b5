/**
 * The control: an inbox as it is often written. It looks whether the message was seen, runs the handler if not, and notes the
 * message then; nothing makes the three one. What that does to the effects must be seen by the judgement.
 */
import { createHash } from "node:crypto";
import type { Subscription } from "../../packages/ichido/src/brokers/broker.ts";
import type { EventMessage } from "../../packages/ichido/src/brokers/message.ts";
import type { Context } from "../../packages/ichido/src/core/contract/context.ts";
import type { TransactionRunner } from "../../packages/ichido/src/core/contract/transaction.ts";
import { addRows, chargeDeaf, chargeHonest, type Doing } from "./handlers.ts";
import { looked } from "./tables.ts";
import { handlersOf, type HandlerName } from "./topics.ts";

const againMs = 300;

function stepsOf(name: string): Pick<Context, "step"> {
  const reference = createHash("sha256").update(name).digest("hex").slice(0, 40);
  const { signal } = new AbortController();
  const step = (_name: string, fn: (call: object) => unknown): unknown => fn({ reference, signal });
  return { step } as unknown as Pick<Context, "step">;
}

export function consumeNaively(
  subscription: Subscription,
  runner: TransactionRunner<unknown>,
  doing: Doing,
): Promise<void> {
  async function handle(name: HandlerName, message: EventMessage): Promise<void> {
    const seen = `${name} ${message.id}`;
    if (await looked.has(runner, seen)) return;
    if (name === "rows") await runner.run((_tx, handle) => addRows(doing, handle, message));
    else await (name === "bank" ? chargeHonest : chargeDeaf)(doing, stepsOf(seen), message);
    await looked.note(runner, seen);
  }
  return subscription.start({
    async take(delivery) {
      try {
        for (const name of handlersOf(delivery.message.topic)) await handle(name, delivery.message);
        await delivery.ack();
      } catch {
        await delivery.retry(againMs).catch(() => undefined);
      }
    },
    unreadable: (delivery) => delivery.ack(),
    disturbed: () => {},
  });
}
