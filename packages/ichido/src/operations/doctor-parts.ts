/** What `diagnose` may look at. The engine is enough; every further part lets it see more. */
import type { Environment } from "../core/contract/environment.ts";
import type { Store } from "../core/contract/store.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { Subscription } from "../brokers/broker.ts";

/** An address that browsers of another origin send keys to. Asked by OPTIONS and GET alone, which have no effect. */
export interface Preflight {
  readonly url: string;
  /** Where the page comes from: `https://shop.example`. */
  readonly origin: string;
  /** Default POST. */
  readonly method?: string;
}

export interface DoctorParts {
  readonly ichido: { readonly store: Store };
  readonly outbox?: Pick<Outbox<never>, "plan" | "drift">;
  readonly inbox?: Pick<Inbox<never>, "plan" | "drift" | "retentionMs" | "stats">;
  readonly subscriptions?: readonly Pick<Subscription, "name" | "redeliveryMsMax">[];
  /** How long your clients wait for an answer: for all operations, or by the name of each. */
  readonly clientTimeoutMs?: number | Readonly<Record<string, number>>;
  readonly preflights?: readonly Preflight[];
  /** The clock of this host. */
  readonly environment?: Pick<Environment, "wallMs">;
  /** The version of an installed package; default: as `node_modules` above the working directory has it. */
  readonly versionOf?: (name: string) => string | undefined;
}
