/** How a record is told: a row of a table, a JSON object, all that is known of it. */
import type { StoredRecord } from "../core/contract/store.ts";
import { iso } from "./history-view.ts";
import { maskedKey, recordName, withoutKey } from "./masked-key.ts";
import type { Style } from "./style.ts";
import type { Column } from "./table.ts";
import { shownDuration } from "./times.ts";

export interface Looking {
  /** Keys in clear. */
  readonly reveal: boolean;
}

export function shownKey({ identity }: Pick<StoredRecord, "identity">, { reveal }: Looking): string {
  return reveal ? identity.key : maskedKey(identity.key);
}

/** The state with what a person has to know of it: the status of the answer, or that it waits for a person. */
export function shownState({ state, holdReason, response }: StoredRecord): string {
  if (state === "unknown") return holdReason === undefined ? state : "unknown (hold)";
  return state === "completed" && response !== undefined ? `${state} ${response.status}` : state;
}

/** `tenant/principal`, as far as they are named. */
export function shownCaller({ identity: { tenant, principal } }: Pick<StoredRecord, "identity">): string {
  return [tenant, principal].filter((each) => each !== undefined).join("/");
}

export const styleOfState: Readonly<Record<StoredRecord["state"], Style | undefined>> = {
  completed: "green",
  processing: "cyan",
  failed: undefined,
  unknown: "yellow",
};

export function shownLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

export function recordJson(record: StoredRecord, looking: Looking): object {
  const { identity, state, fence, attempts, labels, holdReason, response, interim } = record;
  return {
    id: recordName(identity),
    key: shownKey(record, looking),
    keyMasked: !looking.reveal,
    operation: identity.operation,
    tenant: identity.tenant,
    principal: identity.principal,
    state,
    fence,
    attempts,
    stepsStarted: record.stepsStarted,
    leaseLeftMs: record.leaseLeftMs,
    holdReason:
      holdReason === undefined ? undefined : looking.reveal ? holdReason : withoutKey(holdReason, identity.key),
    status: response?.status,
    interimStatus: interim?.status,
    answer: response?.kind,
    labels,
    createdAt: iso(record.createdAtMs),
    updatedAt: iso(record.updatedAtMs),
    expiresAt: iso(record.expiresAtMs),
  };
}

export function recordColumns(looking: Looking, nowMs = Date.now()): readonly Column<StoredRecord>[] {
  return [
    { head: "ID", cell: ({ identity }) => recordName(identity), whole: true },
    { head: "KEY", cell: (record) => shownKey(record, looking), ...(looking.reveal ? { whole: true } : {}) },
    { head: "STATE", cell: shownState, style: ({ state }) => styleOfState[state], whole: true },
    { head: "OPERATION", cell: ({ identity }) => identity.operation },
    { head: "CALLER", cell: shownCaller },
    { head: "AGE", cell: ({ createdAtMs }) => shownDuration(nowMs - createdAtMs, 1), align: "right" },
    { head: "ATTEMPTS", cell: ({ attempts }) => attempts, align: "right" },
    { head: "LABELS", cell: ({ labels }) => shownLabels(labels), loose: true },
  ];
}
