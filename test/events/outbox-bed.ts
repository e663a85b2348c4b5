/** An outbox on a database of the suite, and a publisher that remembers and does as it is told. */
import {
  createOutbox,
  type EventMessage,
  type Outbox,
  type OutboxOptions,
  type Published,
  type Publisher,
} from "ichido/outbox";
import { uniqueName } from "../support/services.ts";
import type { Database } from "./inbox-databases.ts";

export interface Wire extends Publisher {
  readonly sent: EventMessage[];
  readonly calls: EventMessage[];
  answer: (message: EventMessage) => Published | Promise<Published>;
}

export function wire(answer: Wire["answer"] = () => ({ outcome: "sent" })): Wire {
  const made: Wire = {
    name: "wire",
    sent: [],
    calls: [],
    answer,
    async publish(message) {
      made.calls.push(message);
      const published = await made.answer(message);
      if (published.outcome === "sent") made.sent.push(message);
      return published;
    },
    close: async () => {},
  };
  return made;
}

export const rejected = (text = "no"): Published => ({ outcome: "rejected", error: new Error(text) });
export const unavailable = (text = "down"): Published => ({ outcome: "unavailable", error: new Error(text) });

/** Tables of its own, so that suites on one database do not meet. */
export async function openOutbox(
  database: Database,
  options: Partial<OutboxOptions<unknown>> = {},
): Promise<Outbox & { readonly tablePrefix: string }> {
  const tablePrefix = options.tablePrefix ?? `${uniqueName("o").replaceAll("-", "_").toLowerCase().slice(0, 26)}_`;
  const outbox = createOutbox({
    transactions: database.side().runner,
    source: "/shop",
    topics: {
      "order.*": { to: "wire" },
      "mail.*": { to: "wire", order: "none" },
      "other.*": { to: "other" },
      "skip.*": { to: "wire", onDead: "skip", attemptsMax: 2 },
    },
    ...options,
    tablePrefix,
  });
  await outbox.migrate();
  return Object.assign(outbox, { tablePrefix });
}

export const idsOf = (messages: readonly EventMessage[]): string[] => messages.map(({ id }) => id);
