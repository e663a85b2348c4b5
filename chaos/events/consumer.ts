/** Takes what the broker delivers: one handler writes rows beside the message, two charge banks under a lease. */
import type { Subscription } from "../../packages/ichido/src/brokers/broker.ts";
import { createConsumer, createInbox, type ConsumerEvent } from "../../packages/ichido/src/inbox/index.ts";
import { createOutbox } from "../../packages/ichido/src/outbox/index.ts";
import { openBroker } from "../../test/events/storm-brokers.ts";
import { engineOf } from "../engine.ts";
import { runnerOf, type Side } from "../sides/side.ts";
import { addRows, chargeDeaf, chargeHonest, type Doing } from "./handlers.ts";
import { call, live, saw } from "./life.ts";
import { consumeNaively } from "./naive.ts";
import type { EventsSetup } from "./setup.ts";
import { consumerOptions, outboxOptions, retentionMs, wishes } from "./topics.ts";

const told: readonly ConsumerEvent["type"][] = ["duplicate", "parked", "failed", "busy", "unavailable", "disturbed"];
/** A person finds these among the letters, and replays them. */
const expected = ["failed", "crashed", "unknown"];

function note(event: ConsumerEvent): void {
  if (told.includes(event.type)) saw(event.type);
  else if (event.type === "dead") {
    saw(`letter ${event.reason}`);
    if (!expected.includes(event.reason)) console.log(`violation letter ${event.reason} ${event.handler} ${event.id}`);
  } else if (event.type === "unhandled" || event.type === "unreadable") console.log(`violation ${event.type} letter`);
}

/** Tells what came again. */
function noted(subscription: Subscription): Subscription {
  return {
    ...subscription,
    name: subscription.name,
    redeliveryMsMax: subscription.redeliveryMsMax,
    start: (taker) =>
      subscription.start({
        take(delivery) {
          if (delivery.deliveries > 1) saw("redelivery");
          return call(() => taker.take(delivery));
        },
        unreadable: (delivery) => taker.unreadable(delivery),
        disturbed: (error) => taker.disturbed?.(error),
      }),
    stop: (options) => subscription.stop(options),
  };
}

export async function startConsumer(side: Side, setup: EventsSetup): Promise<void> {
  const runner = runnerOf(side);
  const subscription = noted(await (await openBroker(setup.broker, setup.brokerUrl)).subscription());
  const outbox = createOutbox({ ...outboxOptions, transactions: runner });
  const doing: Doing = { outbox, banks: setup.banks, isAlone: runner.dialect === "sqlite" };
  if (setup.naive) {
    await consumeNaively(subscription, runner, doing);
    return live(side, () => subscription.stop({ drainMs: 1_000 }));
  }
  const consumer = createConsumer({
    ...consumerOptions,
    subscription,
    inbox: createInbox({ transactions: runner, retentionMs, ichido: engineOf(side, {}) }),
    handlers: [
      { name: "rows", topics: wishes.rows, once: (_tx, { handle, message }) => addRows(doing, handle, message) },
      { name: "bank", topics: wishes.bank, run: (context, { message }) => chargeHonest(doing, context, message) },
      {
        name: "hold",
        topics: wishes.hold,
        onUnknown: "hold",
        run: (context, { message }) => chargeDeaf(doing, context, message),
      },
    ],
    onEvent: note,
  });
  await consumer.start();
  live(side, () => consumer.stop({ drainMs: 1_000 }));
}
