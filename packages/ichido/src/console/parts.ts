/** What every route of one console works with, and what it knows of the request it answers. */
import type { ConsoleLink } from "../core/engine/console-link.ts";
import type { StoredRecord, Store } from "../core/contract/store.ts";
import type { Identity } from "../core/contract/record.ts";
import type { Looking } from "../operations/told-record.ts";
import type { Body } from "./body.ts";
import type { Permission } from "./contract.ts";
import type { Gate } from "./gate.ts";
import type { ConsoleEngine, ConsoleInbox, ConsoleOutbox, ConsoleSettings, ConsoleUser } from "./options.ts";
import { Problem } from "./problem.ts";
import type { OpenCount } from "./open-count.ts";
import type { Query } from "./query.ts";
import type { Samples } from "./samples.ts";
import type { TrafficRing } from "./traffic-ring.ts";
import type { Tokens } from "./token.ts";

export interface ConsoleParts {
  readonly engine: ConsoleEngine;
  readonly settings: ConsoleSettings;
  /** Every call of it bounded. */
  readonly store: Store;
  /** For calls that are no store's: outbox, inbox. */
  readonly gate: Gate;
  /** For calls to providers. */
  readonly probeGate: Gate;
  readonly link: ConsoleLink;
  /** How records are told: masked. */
  readonly looking: Looking;
  readonly tokens: Tokens;
  readonly samples: Samples;
  readonly traffic: TrafficRing;
  readonly openCount: OpenCount;
  /** Open Live screens, by what ends each. */
  readonly listeners: Set<() => void>;
}

export interface Asked {
  readonly parts: ConsoleParts;
  readonly user: ConsoleUser;
  readonly header: (name: string) => string | undefined;
  readonly left: AbortSignal | undefined;
  /** The part of the address that the route leaves open. */
  readonly named: string;
  /** Refuses every parameter that is not among `names`. */
  query(...names: readonly string[]): Query;
  body(...names: readonly string[]): Promise<Body>;
}

export function may({ parts, user }: Pick<Asked, "parts" | "user">, permission: Permission): boolean {
  const isWrite = permission !== "read";
  return user.can.includes(permission) && !(isWrite && parts.settings.readOnly);
}

export const nobody = { tenant: undefined, principal: undefined } as const;

/** The record that a handle names, as it is now. */
export async function recordNamed({ parts, named }: Asked): Promise<StoredRecord> {
  const opened = parts.link.handles.open(named);
  const identity: Identity | undefined = opened && { ...opened, ...nobody, operation: "" };
  const record = identity && (await parts.store.find(identity));
  if (record !== undefined) return record;
  throw new Problem(
    "not-found",
    opened === undefined
      ? "this link was made under another secret (operationIdSecret), or is cut off"
      : "there is no such record any more: it is past its retention",
  );
}

export function outboxOf({ parts }: Asked): ConsoleOutbox {
  if (parts.settings.outbox !== undefined) return parts.settings.outbox;
  throw new Problem("no-part", "this console has no outbox: give it the option outbox");
}

export function inboxOf({ parts }: Asked): ConsoleInbox {
  if (parts.settings.inbox !== undefined) return parts.settings.inbox;
  throw new Problem("no-part", "this console has no inbox: give it the option inbox");
}
