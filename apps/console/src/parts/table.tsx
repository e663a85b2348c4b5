/** Rows that can be walked by keyboard (`j`, `k`, Enter) and become cards on a phone. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { words } from "../i18n/words.ts";
import { onKeys } from "../keyboard.ts";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly align?: "right";
  /** Takes what room is left, and breaks. */
  readonly loose?: boolean;
  /** Leads the card on a phone, without its name. */
  readonly lead?: boolean;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Where Enter and a click lead. */
  readonly open?: (row: Row) => void;
}

function useWalk<Row>(rows: readonly Row[], open: ((row: Row) => void) | undefined) {
  const [at, setAt] = useState(-1);
  const body = useRef<HTMLTableSectionElement>(null);
  const seen = useRef({ rows, at });
  seen.current = { rows, at };
  useEffect(() => setAt((before) => Math.min(before, rows.length - 1)), [rows.length]);
  useEffect(() => {
    if (open === undefined) return undefined;
    const move = (by: number): void => {
      const next = Math.max(0, Math.min(seen.current.rows.length - 1, seen.current.at + by));
      setAt(next);
      const row = body.current?.rows[next];
      row?.scrollIntoView({ block: "nearest" });
      // Screen readers say where one is, and Tab goes on from there.
      row?.querySelector<HTMLElement>("a.whole")?.focus({ preventScroll: true });
    };
    return onKeys({
      j: () => move(1),
      k: () => move(-1),
      Enter: () => {
        const row = seen.current.rows[seen.current.at];
        if (row !== undefined) open(row);
        return row !== undefined;
      },
    });
  }, [open !== undefined]);
  return { at, body };
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a, button, input, select, label") !== null;
}

export function Table<Row>({ caption, columns, rows, keyOf, open }: TableProps<Row>): JSX.Element {
  const latest = useRef(open);
  latest.current = open;
  const { at, body } = useWalk(rows, open === undefined ? undefined : (row) => latest.current?.(row));
  return (
    <div class="table cards">
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, align }) => (
              <th scope="col" class={align} key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => (
            <tr
              key={keyOf(row)}
              data-at={index === at}
              data-open={open === undefined ? undefined : ""}
              onClick={(event) => {
                if (!isControl(event.target) && getSelection()?.isCollapsed !== false) open?.(row);
              }}
            >
              {columns.map((column) => (
                <td
                  key={column.head}
                  class={[column.align, column.loose === true ? "loose" : "tight", column.lead === true ? "lead" : ""]
                    .filter(Boolean)
                    .join(" ")}
                  data-name={column.head}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface PagerProps {
  readonly shown: number;
  /** The first page, where this is another. */
  readonly first: string | undefined;
  readonly next: string | undefined;
  readonly children?: ComponentChildren;
}

export function Pager({ shown, first, next, children }: PagerProps): JSX.Element {
  return (
    <nav class="pager" aria-label={words().pages}>
      <span>{words().rowsShown(shown)}</span>
      {children}
      <span class="row end">
        {first !== undefined && (
          <a class="button low" href={first}>
            {words().firstPage}
          </a>
        )}
        {next !== undefined && (
          <a class="button low" href={next} rel="next">
            {words().nextPage}
          </a>
        )}
      </span>
    </nav>
  );
}
