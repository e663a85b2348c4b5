/** A record as a row of a table. */
import type { StoredRecord } from "../core/contract/store.ts";
import { isOnHold } from "../core/record-machine/seen.ts";
import { shownKey, shownLabels, type Looking } from "../operations/told-record.ts";
import type { Style } from "./style.ts";
import type { Column } from "./table.ts";
import { shownDuration } from "./times.ts";

/** The state with what a person has to know of it: the status of the answer, or that it waits for a person. */
export function shownState(record: StoredRecord): string {
  const { state, response } = record;
  if (state === "unknown") return isOnHold(record) ? "unknown (hold)" : state;
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

export function labelsText(record: StoredRecord, looking: Looking): string {
  return Object.entries(shownLabels(record, looking))
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

export function recordColumns(looking: Looking, nowMs = Date.now()): readonly Column<StoredRecord>[] {
  return [
    { head: "ID", cell: ({ identity }) => looking.nameOf(identity), whole: true },
    {
      head: "KEY",
      cell: ({ identity }) => shownKey(identity.key, looking),
      ...(looking.reveal ? { whole: true } : {}),
    },
    { head: "STATE", cell: shownState, style: ({ state }) => styleOfState[state], whole: true },
    { head: "OPERATION", cell: ({ identity }) => identity.operation },
    { head: "CALLER", cell: shownCaller },
    { head: "AGE", cell: ({ createdAtMs }) => shownDuration(nowMs - createdAtMs, 1), align: "right" },
    { head: "ATTEMPTS", cell: ({ attempts }) => attempts, align: "right" },
    { head: "LABELS", cell: (record) => labelsText(record, looking), loose: true },
  ];
}
