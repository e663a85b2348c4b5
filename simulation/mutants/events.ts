/** Outbox, relay and inbox, undone rule by rule. Statements are undone where they are run from: in the generated modules. */
import { inboxMutants } from "./events-inbox.ts";
import { shownBy, type Mutant } from "./mutant.ts";
import { outboxMutants } from "./events-outbox.ts";

export const eventsMutants: readonly Mutant[] = shownBy("events", [...outboxMutants, ...inboxMutants]);
