/** Numbers over time. The drawing is for the eye; the latest numbers stand beside it as text. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { words } from "../i18n/words.ts";
import { fineClock } from "../time.ts";
import { useSettings } from "../settings.ts";

export interface Series {
  readonly name: string;
  /** Which ink of the style sheet: both themes have it. */
  readonly ink: 0 | 1 | 2 | 3 | 4 | 5;
  readonly values: readonly (number | null)[];
  /** A guess, not a count. */
  readonly isDashed?: boolean;
  readonly isFilled?: boolean;
}

interface PlotProps {
  readonly label: string;
  readonly timesMs: readonly number[];
  readonly series: readonly Series[];
  readonly height?: number;
  readonly format?: (value: number) => string;
}

const heightDefault = 200;
/** Between labels, in seconds: they say hours and minutes, and must not say the same twice. */
const minutesApart = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440].map((minutes) => minutes * 60);

/** Colours as the browser has worked them out for this theme: a canvas cannot read the style sheet's names. */
function inksOf(place: HTMLElement): (at: number) => string {
  const probe = document.createElement("i");
  place.append(probe);
  const inks = Array.from({ length: 7 }, (_, at) => {
    probe.className = `ink-${at}`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return (at) => inks[at] ?? "currentColor";
}

function seriesOf({ name, ink, isDashed, isFilled }: Series, inks: (at: number) => string, shown: PlotProps["format"]) {
  return {
    label: name,
    stroke: inks(ink),
    width: 1.5,
    points: { show: false },
    ...(isDashed === true ? { dash: [5, 4] } : {}),
    ...(isFilled === true ? { fill: inks(ink).replace(/^rgb\((.+)\)$/, "rgba($1, 0.12)") } : {}),
    value: (_: UPlot, value: number | null) => (value === null ? "–" : (shown?.(value) ?? String(value))),
  };
}

function optionsOf(place: HTMLElement, { series, height = heightDefault, format }: PlotProps): UPlot.Options {
  const inks = inksOf(place);
  const axis = { stroke: inks(5), grid: { stroke: inks(6), width: 1 }, ticks: { stroke: inks(6), width: 1 } };
  const font = `11px ${getComputedStyle(place).fontFamily}`;
  return {
    width: place.clientWidth,
    height,
    // Half of the last label on the axis.
    padding: [12, 24, 0, 4],
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: { x: { time: true }, y: { range: (_, low, high) => [Math.min(0, low), high <= 0 ? 1 : high * 1.1] } },
    axes: [
      {
        ...axis,
        font,
        grid: { show: false },
        space: 90,
        incrs: minutesApart,
        values: (_, splits) => splits.map((at) => fineClock(at * 1_000).slice(0, 5)),
      },
      {
        ...axis,
        font,
        size: 64,
        space: 36,
        values: (_, splits) => splits.map((value) => format?.(value) ?? String(value)),
      },
    ],
    series: [
      { label: words().columns.when, value: (_, at) => (at === null ? "–" : fineClock(at * 1_000).slice(0, 8)) },
      ...series.map((each) => seriesOf(each, inks, format)),
    ],
  };
}

export function Plot(props: PlotProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const { theme, zone, lang } = useSettings();
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const times = props.timesMs.map((ms) => ms / 1_000);
    const plot = new UPlot(
      optionsOf(element, props),
      [times, ...props.series.map(({ values }) => [...values])],
      element,
    );
    const watcher = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: props.height ?? heightDefault }),
    );
    watcher.observe(element);
    const system = matchMedia("(prefers-color-scheme: dark)");
    const repaint = (): void => {
      const { series, axes } = optionsOf(element, props);
      plot.series.forEach((each, at) => void (each.stroke = () => (series[at]?.stroke as string) ?? ""));
      plot.axes.forEach((each, at) => void (each.stroke = () => (axes?.[at]?.stroke as string) ?? ""));
      plot.redraw(false, true);
    };
    system.addEventListener("change", repaint);
    return () => {
      system.removeEventListener("change", repaint);
      watcher.disconnect();
      plot.destroy();
    };
  }, [props.timesMs, props.series, theme, zone, lang]);
  return (
    <div class="plot">
      <div ref={place} role="img" aria-label={props.label} />
    </div>
  );
}
