/** A consumer in a process of its own that dies inside its handler. */
import { flushCompileCache } from "node:module";
import type { TransactionHandle } from "ichido";
import { createConsumer, type EventMessage } from "ichido/inbox";
import { addEffect } from "../effects/add-effect.ts";
import { openLoneSide } from "../effects/lone-side.ts";
import { testBroker } from "./inbox-broker.ts";
import { inboxOn, message } from "./inbox-messages.ts";

const [, , dialect, url = "", name = "", text = "", deliveries = "1"] = process.argv;
const side = await openLoneSide(dialect as TransactionHandle["dialect"], url);
const broker = testBroker();
const consumer = createConsumer({
  subscription: broker.subscription,
  inbox: inboxOn(side.runner),
  crashesMax: 1,
  handlers: [
    {
      name,
      topics: ["*"],
      once: async (_tx, { handle, message: { id } }) => {
        await addEffect(handle, `${name} ${id}`);
        console.log("written");
        // What was printed must be on its way before the end.
        await new Promise((resolve) => process.stdout.write("", resolve));
        process.kill(process.pid, "SIGKILL");
        await new Promise(() => {});
      },
    },
  ],
});
await consumer.start();
// It will be killed, and would leave nothing in the compile cache.
flushCompileCache();
await broker.deliver(message(JSON.parse(text) as Omit<EventMessage, "payload">), Number(deliveries));
if (broker.answers.acked.length > 0) console.log("acked");
await consumer.stop();
await side.close();
