/** Sends what the outbox holds. Its publisher refuses some events now and then, as a broker does that is full. */
import { createOutbox, createRelay, type Publisher, type RelayEvent } from "../../packages/ichido/src/outbox/index.ts";
import { payloadOf } from "../../packages/ichido/src/brokers/message.ts";
import { openBroker } from "../../test/events/storm-brokers.ts";
import { runnerOf, type Side } from "../sides/side.ts";
import { watchFence } from "./fence-watch.ts";
import { call, live, saw, weather } from "./life.ts";
import type { EventsSetup } from "./setup.ts";
import { isRefused, outboxOptions, relayOptions, type News } from "./topics.ts";

const refusals = 0.7;

function moody(publisher: Publisher): Publisher {
  return {
    name: publisher.name,
    close: () => publisher.close(),
    publish: (message) =>
      call(async () => {
        if (!weather.isCalm && isRefused(payloadOf<News>(message)) && Math.random() < refusals)
          return { outcome: "rejected", error: new Error("refused") };
        return publisher.publish(message);
      }),
  };
}

const told: readonly RelayEvent["type"][] = ["session-ended", "session-lost", "rejected", "paused", "set-aside"];

function note(event: RelayEvent): void {
  if (told.includes(event.type)) saw(event.type);
  else if (event.type === "dead") saw(`relay-dead ${event.reason}`);
  else if (event.type === "unrouted") console.log(`violation unrouted ${event.id}`);
}

export async function startRelay(side: Side, { broker, brokerUrl }: EventsSetup): Promise<void> {
  const transactions = watchFence(runnerOf(side), () =>
    console.log("violation wrote-without-session a turn was committed"),
  );
  const publisher = moody(await (await openBroker(broker, brokerUrl)).publisher());
  const relay = createRelay(createOutbox({ ...outboxOptions, transactions }), {
    ...relayOptions,
    routes: { broker: publisher },
    onEvent: note,
  });
  await relay.start();
  live(side, () => relay.stop({ drainMs: 1_000 }));
}
