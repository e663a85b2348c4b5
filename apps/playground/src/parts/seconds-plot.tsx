/**
 * Numbers over seconds since something began, as steps: a number stands until the next was counted, and a slope would show
 * what nobody counted. The numbers stand in the legend as text.
 */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useSettings } from "../../../console/src/settings.ts";

export interface SecondsSeries {
  readonly name: string;
  /** Which ink of the style sheet: both themes have it. */
  readonly ink: 0 | 1 | 2 | 3 | 4 | 5;
  readonly values: readonly number[];
  /** What the legend says while nobody points at a moment; otherwise the last value. */
  readonly told?: number;
  /** Lies on top of another that may be the same. */
  readonly isDashed?: boolean;
}

interface SecondsPlotProps {
  readonly label: string;
  /** Of what the legend's numbers are while nobody points at a moment. */
  readonly toldOf: string;
  readonly atMs: readonly number[];
  readonly series: readonly SecondsSeries[];
  readonly format?: (value: number) => string;
}

const HEIGHT = 180;

/** Colours as the browser has worked them out for this theme: a canvas cannot read the style sheet's names. */
function inkOf(place: HTMLElement, at: number): string {
  const probe = document.createElement("i");
  probe.className = `ink-${at}`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function optionsOf(place: HTMLElement, { series, toldOf, format = String }: SecondsPlotProps): UPlot.Options {
  const stepped = UPlot.paths.stepped?.({ align: 1 });
  const line = { stroke: inkOf(place, 6), width: 1 };
  const axis = { stroke: inkOf(place, 5), grid: line, ticks: line, font: `11px ${getComputedStyle(place).fontFamily}` };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    // The name of the last tick is as wide as that, half of it beyond the end.
    padding: [12, 24, 0, 0],
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: (_, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      { ...axis, values: (_, splits) => splits.map((at) => `${at} s`) },
      { ...axis, size: 56, values: (_, splits) => splits.map(format) },
    ],
    series: [
      { label: "s", value: (_: UPlot, at: number | null) => (at === null ? toldOf : `${at} s`) },
      ...series.map(({ name, ink, values, told = values.at(-1), isDashed }) => ({
        label: name,
        stroke: inkOf(place, ink),
        width: 1.5,
        points: { show: false },
        value: (_: UPlot, value: number | null) => (told === undefined ? "–" : format(value ?? told)),
        ...(isDashed === true ? { dash: [6, 6], width: 2.5 } : {}),
        ...(stepped === undefined ? {} : { paths: stepped }),
      })),
    ],
  };
}

export function SecondsPlot(props: SecondsPlotProps): JSX.Element {
  const { label, atMs, series, toldOf } = props;
  const place = useRef<HTMLDivElement>(null);
  const { theme, lang } = useSettings();
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const seconds = atMs.map((ms) => ms / 1_000);
    const plot = new UPlot(optionsOf(element, props), [seconds, ...series.map(({ values }) => [...values])], element);
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify([atMs, series]), toldOf, theme, lang]);
  return (
    <div class="plot">
      <div ref={place} role="img" aria-label={label} />
    </div>
  );
}
