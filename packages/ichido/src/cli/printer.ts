/** How results are told: tables and names for people, a JSON object per line for programs. */
import type { Io } from "./command.ts";
import { painter, wantsColours, type Style } from "./style.ts";
import { detailsOf, tableOf, type Column, type TableLook } from "./table.ts";
import { jsonLine, visible, widthOf } from "./visible-text.ts";

/** Of every line of `--json`. A member that changes its meaning gets another number. */
export const jsonVersion = 1;

export interface Printer {
  readonly json: boolean;
  /** A line for programs alone. */
  line(type: string, value: object): void;
  /** Rows for people; for programs a line each, as `toJson` tells it. */
  rows<Row>(type: string, rows: readonly Row[], columns: readonly Column<Row>[], toJson?: (row: Row) => object): void;
  details(details: Parameters<typeof detailsOf>[0]): void;
  /** Text for people. */
  text(text: string, style?: Style): void;
  /** Text for people that is painted, and made visible, already. */
  raw(text: string): void;
  /** Beside the data: always on the error stream. */
  note(text: string): void;
  paint(text: string, style: Style | undefined): string;
  /** Draws how far a long work is, where a person watches. */
  progress(done: number, total: number | undefined, what: string): void;
  /** Removes what was drawn. */
  end(): void;
}

const barWidth = 24;
const drawEveryMs = 100;

export function createPrinter(io: Io, { json }: { readonly json: boolean }): Printer {
  const colours = wantsColours(io.env);
  const paint = painter(colours && io.columns !== undefined);
  const look = (): TableLook => ({ columns: io.columns?.(), paint });
  let drawn = 0;
  let drawnAtMs = 0;

  function erase(): void {
    if (drawn > 0) io.err(`\r${" ".repeat(drawn)}\r`);
    drawn = 0;
  }

  const printer: Printer = {
    json,
    paint,
    line(type, value) {
      if (json) io.out(jsonLine({ v: jsonVersion, type, ...value }));
    },
    rows(type, rows, columns, toJson = (row) => row as object) {
      erase();
      if (json) for (const row of rows) printer.line(type, toJson(row));
      else if (rows.length > 0) io.out(tableOf(rows, columns, look()));
    },
    details(details) {
      erase();
      if (!json) io.out(detailsOf(details, look()));
    },
    text(text, style) {
      erase();
      if (!json)
        io.out(
          `${text
            .split("\n")
            .map((line) => paint(visible(line), style))
            .join("\n")}\n`,
        );
    },
    raw(text) {
      erase();
      if (!json) io.out(text);
    },
    note(text) {
      erase();
      io.err(`${text.split("\n").map(visible).join("\n")}\n`);
    },
    progress(done, total, what) {
      const nowMs = Date.now();
      if (!io.drawsProgress || nowMs - drawnAtMs < drawEveryMs) return;
      drawnAtMs = nowMs;
      const part = total === undefined || total === 0 ? undefined : Math.min(1, done / total);
      const full = Math.round((part ?? 0) * barWidth);
      const bar =
        part === undefined ? "" : `[${"#".repeat(full)}${"-".repeat(barWidth - full)}] ${Math.floor(part * 100)} % `;
      const text = visible(`${bar}${done}${total === undefined ? "" : ` of ${total}`} ${what}`);
      io.err(`\r${text}${" ".repeat(Math.max(0, drawn - widthOf(text)))}`);
      drawn = widthOf(text);
    },
    end: erase,
  };
  return printer;
}
