/** A consumer on a broker inside the test, with what it told. */
import {
  createConsumer,
  type ConsumerEvent,
  type ConsumerHandler,
  type ConsumerOptions,
  type Inbox,
} from "ichido/inbox";
import { onTestFinished } from "vitest";
import { addEffect } from "../effects/sides.ts";
import { testBroker, type TestBroker } from "./inbox-broker.ts";

export interface Bed extends TestBroker {
  readonly consumer: ReturnType<typeof createConsumer>;
  readonly events: ConsumerEvent[];
  readonly types: () => readonly string[];
}

export async function consuming(
  inbox: Inbox,
  handlers: readonly ConsumerHandler<unknown>[],
  options: Partial<ConsumerOptions<unknown>> & { readonly ackWaitMs?: number; readonly redeliveryMsMax?: number } = {},
): Promise<Bed> {
  const { ackWaitMs, redeliveryMsMax, ...own } = options;
  const broker = testBroker({
    ...(ackWaitMs === undefined ? {} : { ackWaitMs }),
    ...(redeliveryMsMax === undefined ? {} : { redeliveryMsMax }),
  });
  const events: ConsumerEvent[] = [];
  const consumer = createConsumer({
    subscription: broker.subscription,
    inbox,
    handlers,
    backoffMs: 1,
    backoffMsMax: 5,
    // Slow machines must not park what a test wants to see fail in place.
    parkAfterMs: 600_000,
    onEvent: (event) => events.push(event),
    ...own,
  });
  await consumer.start();
  onTestFinished(() => consumer.stop());
  return { ...broker, consumer, events, types: () => events.map(({ type }) => type) };
}

export const writes = (name: string, topics: readonly string[] = ["*"]): ConsumerHandler<unknown> => ({
  name,
  topics,
  once: (_tx, { handle, message: { id } }) => addEffect(handle, `${name} ${id}`),
});
