/** What lies behind a mark: the line of the log, and the bytes or the row that belong to it. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { fineClock } from "../../../console/src/time.ts";
import type { LoggedEvent, RowShown } from "../../../shop/src/playground/contract.ts";
import { words } from "../i18n/words.ts";

/** The same row as the event before it of this table has it. */
function rowBefore(event: LoggedEvent, all: readonly LoggedEvent[]): RowShown | undefined {
  const { raw } = event;
  if (raw?.kind !== "row") return undefined;
  const earlier = all.filter(
    (each) =>
      each !== event &&
      each.lane === event.lane &&
      each.atMs <= event.atMs &&
      each.seq < event.seq &&
      isOf(each, raw.table),
  );
  const last = earlier.at(-1)?.raw;
  return last?.kind === "row" ? last.row : undefined;
}

function isOf({ raw }: LoggedEvent, table: string): boolean {
  return raw?.kind === "row" && raw.table === table;
}

function RowTable({ row, before }: { readonly row: RowShown; readonly before: RowShown | undefined }): JSX.Element {
  const names = Object.keys(row).filter((name) => row[name] !== null || (before?.[name] ?? null) !== null);
  const text = (value: string | number | null | undefined): string => (value === null ? "NULL" : String(value ?? ""));
  return (
    <table class="row-shown">
      <thead>
        <tr>
          <th scope="col">{words().faults.column}</th>
          {before !== undefined && <th scope="col">{words().faults.rowBefore}</th>}
          <th scope="col">{words().faults.rowAfter}</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name} class={before !== undefined && before[name] !== row[name] ? "changed" : undefined}>
            <th scope="row" class="mono">
              {name}
            </th>
            {before !== undefined && <td class="mono">{text(before[name])}</td>}
            <td class="mono">{text(row[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface EventRawProps {
  readonly event: LoggedEvent;
  readonly title: string;
  readonly events: readonly LoggedEvent[];
  readonly close: () => void;
}

export function EventRaw({ event, title, events, close }: EventRawProps): JSX.Element {
  const { raw, ...line } = event;
  const place = useRef<HTMLElement>(null);
  useEffect(() => place.current?.focus(), [event]);
  return (
    <section class="event-raw stack" aria-label={title} tabIndex={-1} ref={place} data-raw={raw?.kind ?? "event"}>
      <header class="row">
        <h3>{`${fineClock(event.atMs)} ${title}`}</h3>
        <button type="button" class="button low end" onClick={close}>
          {words().faults.close}
        </button>
      </header>
      {raw?.kind === "wire" && (
        <pre class="source" tabIndex={0} aria-label={words().faults.wire}>
          {raw.text}
        </pre>
      )}
      {raw?.kind === "row" && (
        <>
          <p class="small muted">{words().faults.rowOf(raw.table)}</p>
          <div class="source" tabIndex={0} role="group" aria-label={words().faults.rowOf(raw.table)}>
            <RowTable row={raw.row} before={rowBefore(event, events)} />
          </div>
        </>
      )}
      <p class="small muted">{words().faults.logLine}</p>
      <pre class="source" tabIndex={0} aria-label={words().faults.logLine}>
        {JSON.stringify(line)}
      </pre>
    </section>
  );
}
