/** What the proxy answered in each slice of a storm. */
import type { JSX } from "preact";
import type { Slice, SliceCounts } from "../../../shop/src/playground/storm-slices.ts";
import { words } from "../i18n/words.ts";
import { SecondsPlot } from "./seconds-plot.tsx";

const inks = { executed: 0, replayed: 1, inFlight: 2, lost: 3, restarts: 4, failed: 5 } as const;
const names = Object.keys(inks) as (keyof typeof inks)[];

interface StormPlotProps {
  readonly label: string;
  readonly slices: readonly Slice[];
  readonly sliceMs: number;
  readonly totals: SliceCounts | undefined;
}

export function StormPlot({ label, slices, sliceMs, totals }: StormPlotProps): JSX.Element {
  const last = slices.at(-1);
  // The end of the last slice, too: its step ends there, also where it is the only one.
  const steps = last === undefined ? [] : [...slices, { ...last, atMs: last.atMs + sliceMs }];
  return (
    <SecondsPlot
      label={label}
      toldOf={words().storm.inAll}
      atMs={steps.map(({ atMs }) => atMs)}
      series={names.map((name) => ({
        name: words().storm.series[name],
        ink: inks[name],
        ...(totals === undefined ? {} : { told: totals[name] }),
        values: steps.map((slice) => slice[name]),
      }))}
    />
  );
}
