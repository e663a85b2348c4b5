/** Columns that fit the terminal; untouched where there is none, so that other programs read all of them. */
import { fitted, padded, visible, widthOf } from "./visible-text.ts";
import type { Style } from "./style.ts";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string | number | undefined;
  readonly align?: "left" | "right";
  readonly style?: (row: Row) => Style | undefined;
  /** Never cut off: what a person has to type again. */
  readonly whole?: true;
  /** Cut off before the others: what is told in full elsewhere. */
  readonly loose?: true;
}

const gap = 2;
const columnMin = 6;

const looseMin = 14;

interface Sized<Row> {
  readonly column: Column<Row>;
  readonly index: number;
  readonly width: number;
}

const sumOf = (sized: readonly Sized<never>[]): number => sized.reduce((sum, { width }) => sum + width + gap, -gap);

/** Takes a letter from the widest column that has one to give. None: nothing can be taken. */
function narrowed<Row>(sized: readonly Sized<Row>[]): readonly Sized<Row>[] | undefined {
  const loose = sized.filter(({ column, width }) => column.loose === true && width > looseMin);
  const others = sized.filter(({ column, width }) => column.whole !== true && width > columnMin);
  const [widest] = (loose.length > 0 ? loose : others).toSorted((one, other) => other.width - one.width);
  return widest && sized.map((each) => (each === widest ? { ...each, width: each.width - 1 } : each));
}

/** Narrower columns, the loose ones first; where that is not enough, fewer of them, from the right. */
function fittedColumns<Row>(said: readonly Sized<Row>[], room: number): readonly Sized<Row>[] {
  let sized = said;
  while (sumOf(sized) > room) {
    const last = sized.findLastIndex(({ column }) => column.whole !== true);
    const next = narrowed(sized) ?? (last === -1 ? undefined : sized.toSpliced(last, 1));
    if (next === undefined) break;
    sized = next;
  }
  return sized;
}

export interface TableLook {
  readonly columns?: number | undefined;
  readonly paint: (text: string, style: Style | undefined) => string;
}

export function tableOf<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { columns: room, paint }: TableLook,
): string {
  const texts = rows.map((row) => columns.map(({ cell }) => visible(String(cell(row) ?? ""))));
  // A column in which nothing is said takes room from the others.
  const said = columns
    .map((column, index) => ({ column, index }))
    .filter(({ index }) => texts.some((row) => row[index] !== ""))
    .map(({ column, index }) => ({
      column,
      index,
      width: Math.max(widthOf(column.head), ...texts.map((row) => widthOf(row[index] ?? ""))),
    }));
  const used = room === undefined ? said : fittedColumns(said, room);

  function lineOf(
    cells: (place: number, index: number) => string,
    style: (place: number) => Style | undefined,
  ): string {
    return used
      .map(({ column, index, width }, place) => {
        const text = fitted(cells(place, index), width);
        const isLast = place === used.length - 1 && column.align !== "right";
        return paint(isLast ? text : padded(text, width, column.align), style(place));
      })
      .join(" ".repeat(gap))
      .trimEnd();
  }

  const head = lineOf(
    (place) => used[place]?.column.head ?? "",
    () => "dim",
  );
  const lines = texts.map((row, at) =>
    lineOf(
      (_place, index) => row[index] ?? "",
      (place) => used[place]?.column.style?.(rows[at] as Row),
    ),
  );
  return [head, ...lines, ""].join("\n");
}

/** Names and what they are, one below the other. */
export function detailsOf(
  details: readonly (readonly [name: string, value: string | number | undefined, style?: Style | undefined])[],
  { paint }: TableLook,
): string {
  const told = details.filter(([, value]) => value !== undefined && value !== "");
  const width = Math.max(0, ...told.map(([name]) => widthOf(name)));
  return told
    .map(([name, value, style]) => `${paint(padded(name, width), "dim")}  ${paint(visible(String(value)), style)}\n`)
    .join("");
}
