/** Which events that were given up a command is about. */
import type { Inbox } from "../inbox/index.ts";
import type { Outbox } from "../outbox/index.ts";
import type { Flags } from "./command.ts";
import { UsageError } from "./exit-codes.ts";
import type { Project } from "./project.ts";

export const letterFlags = {
  topic: { type: "string", value: "name", says: "of this topic alone" },
  limit: { type: "string", value: "n", says: "default 50, at most 1000" },
  cursor: { type: "string", value: "n", says: "where the page before ended" },
} as const satisfies Flags;

export function outboxOf({ outbox, place }: Project): Outbox<never> {
  if (outbox !== undefined) return outbox;
  throw new UsageError(
    `there is no outbox in ${place}: name it in the configuration, or give the address of its database`,
  );
}

export function inboxOf({ inbox, place }: Project): Inbox<never> {
  if (inbox !== undefined) return inbox;
  throw new UsageError(
    `there is no inbox in ${place}: name it in the configuration, or give the address of its database`,
  );
}
