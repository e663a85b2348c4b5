/** Messages and databases with an inbox, for the suites of the inbox. */
import { createIchido } from "ichido";
import { createInbox, type EventMessage, type Inbox, type InboxOptions } from "ichido/inbox";
import type { Side } from "../effects/sides.ts";
import { uniqueName } from "../support/unique-name.ts";
import type { Database } from "./inbox-databases.ts";

const encoder = new TextEncoder();

export function message(
  parts: Partial<Omit<EventMessage, "payload">> & { readonly payload?: unknown } = {},
): EventMessage {
  return {
    id: uniqueName("m"),
    topic: "order.paid",
    source: "/shop",
    time: new Date().toISOString(),
    contentType: "application/json",
    headers: {},
    ...parts,
    payload: encoder.encode(JSON.stringify(parts.payload ?? { order: 7 })),
  };
}

export const dayMs = 86_400_000;

export function inboxOn(runner: Side["runner"], options: Partial<InboxOptions<unknown>> = {}): Inbox {
  return createInbox({ transactions: runner, retentionMs: 14 * dayMs, ...options });
}

/** With leases of an engine on the same side. */
export function leasedInboxOn(
  side: Side,
  onUnknown: "rerun" | "hold",
  options: Partial<InboxOptions<unknown>> = {},
): Inbox {
  const ichido = createIchido({
    store: side.store,
    dangerouslyShareKeys: true,
    onUnknown,
    sweepMs: "off",
    onEvent: () => {},
  });
  return inboxOn(side.runner, { ichido, ...options });
}

export async function migrated(database: Database, options: Partial<InboxOptions<unknown>> = {}): Promise<Inbox> {
  const inbox = inboxOn(database.side().runner, options);
  await inbox.migrate();
  return inbox;
}
