/** How a record is shown in rows: the same wherever records are listed. */
import type { JSX } from "preact";
import type { RecordView } from "../contract.ts";
import { words } from "../i18n/words.ts";
import { hashOf } from "../router.ts";
import { duration } from "../time.ts";
import { Copy } from "./copy.tsx";
import { Moment } from "./moment.tsx";
import { State } from "./state.tsx";
import type { Column } from "./table.tsx";

export function callerOf({ tenant, principal }: Pick<RecordView, "tenant" | "principal">): string {
  return [tenant, principal].filter((part) => part !== undefined).join(" / ");
}

export function labelsOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join("  ");
}

export function KeyLink({ handle, id, name }: { handle: string; id: string; name?: string }): JSX.Element {
  return (
    <span class="nowrap">
      <a class="whole mono" href={hashOf(["keys", handle])}>
        {name ?? id}
      </a>
      <Copy text={id} what={id} />
    </span>
  );
}

/** `12 s left`, `lapsed 2 min ago`, `ended`. */
export function leaseOf({ lease }: Pick<RecordView, "lease">): string {
  if (lease === undefined) return "";
  const { leaseEnded, leaseLeft, leaseLapsed } = words();
  if (lease.is === "ended") return leaseEnded;
  return lease.is === "live" ? leaseLeft(duration(lease.ms)) : leaseLapsed(duration(lease.ms));
}

export function recordColumns(): readonly Column<RecordView>[] {
  const { columns } = words();
  return [
    {
      head: columns.state,
      cell: ({ state, status }) => <State state={state} status={state === "completed" ? status : undefined} />,
      lead: true,
    },
    { head: columns.id, cell: ({ handle, id }) => <KeyLink handle={handle} id={id} /> },
    { head: columns.key, cell: ({ key }) => <span class="mono muted">{key}</span> },
    { head: columns.operation, cell: ({ operation }) => operation },
    { head: columns.caller, cell: (record) => callerOf(record) },
    { head: columns.labels, cell: ({ labels }) => labelsOf(labels), loose: true },
    { head: columns.runs, cell: ({ attempts }) => attempts, align: "right" },
    { head: columns.firstSeen, cell: ({ createdAt }) => <Moment ms={Date.parse(createdAt)} /> },
  ];
}
