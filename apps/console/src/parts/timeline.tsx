/** What happened, drawn to scale in lanes, and below in words: the drawing is for the eye, the list for everybody. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { words } from "../i18n/words.ts";
import { dayOf, duration, exact, fineClock } from "../time.ts";
import { Shape, type ShapeName } from "./icon.tsx";
import { serverNow } from "./moment.tsx";
import { scaleOf, type Scale } from "./scale.ts";
import type { Tone } from "./state.tsx";

export interface Happening {
  /** Those of one name lie in one lane; lanes stand in the order in which they are met. */
  readonly lane: string;
  readonly atMs: number;
  /** It took time: a bar. */
  readonly untilMs?: number;
  /** It began, and nobody knows when it ended. */
  readonly isOpen?: boolean;
  readonly tone: Tone;
  readonly shape: ShapeName;
  readonly text: string;
  /** Shows what lies behind it: by a click on its mark, or by its line in the list. */
  readonly open?: () => void;
}

interface DrawnProps {
  readonly happening: Happening;
  readonly scale: Scale;
}

function Drawn({ happening: { atMs, untilMs, isOpen, tone, shape, text, open }, scale }: DrawnProps): JSX.Element {
  const left = scale.place(atMs);
  const title = `${fineClock(atMs)}  ${text}`;
  if (untilMs === undefined && isOpen !== true)
    return (
      <span
        class={`mark tone-${tone}${open === undefined ? "" : " can-open"}`}
        style={{ left: `${left}%` }}
        title={title}
        onClick={open}
      >
        <Shape name={shape} />
      </span>
    );
  const until = isOpen === true ? Math.min(100, left + 6) : scale.place(untilMs ?? atMs);
  const width = Math.max(0, until - left);
  return (
    <span
      class={`bar tone-${tone}${isOpen === true ? " open" : ""}`}
      style={{ left: `${left}%`, width: `${width}%` }}
      title={title}
    />
  );
}

/** As much of a time as tells one tick from the next. */
function tickName(atMs: number, spanMs: number): string {
  if (spanMs < 5_000) return fineClock(atMs);
  return spanMs < 86_400_000 ? fineClock(atMs).slice(0, 8) : `${dayOf(atMs).slice(5)} ${fineClock(atMs).slice(0, 5)}`;
}

function Axis({ scale }: { readonly scale: Scale }): JSX.Element {
  const cutMs = scale.cuts.reduce((sum, { fromMs, untilMs }) => sum + untilMs - fromMs, 0);
  const spanMs = scale.untilMs - scale.fromMs - cutMs;
  return (
    <div class="axis">
      <span />
      <div class="track">
        {scale.ticks.map(({ atMs, at }) => (
          <span key={atMs} class={`tick${at < 9 ? " first" : at > 91 ? " last" : ""}`} style={{ left: `${at}%` }}>
            {tickName(atMs, spanMs)}
          </span>
        ))}
        {scale.cuts.map(({ fromMs, untilMs, from, until }) => (
          <span key={fromMs} class="cut-name" style={{ left: `${(from + until) / 2}%` }}>
            {duration(untilMs - fromMs)}
          </span>
        ))}
      </div>
    </div>
  );
}

export function Lanes({
  happenings,
  what,
}: {
  readonly happenings: readonly Happening[];
  readonly what: string;
}): JSX.Element {
  const scale = scaleOf(
    happenings.map(({ atMs, untilMs }) => ({ fromMs: atMs, untilMs: Math.max(atMs, untilMs ?? atMs) })),
  );
  const lanes = [...new Set(happenings.map(({ lane }) => lane))];
  return (
    <figure class="lanes" role="img" aria-label={words().drawnToScale(what, duration(scale.untilMs - scale.fromMs))}>
      {lanes.map((lane) => (
        <div class="lane" key={lane}>
          <span class="name" title={lane}>
            {lane}
          </span>
          <div class="track">
            {scale.cuts.map(({ fromMs, from, until }) => (
              <span key={fromMs} class="cut" style={{ left: `${from}%`, width: `${until - from}%` }} />
            ))}
            {happenings
              .filter((each) => each.lane === lane)
              .map((each, at) => (
                <Drawn key={at} happening={each} scale={scale} />
              ))}
          </div>
        </div>
      ))}
      <Axis scale={scale} />
    </figure>
  );
}

function Line({ happening, firstMs }: { readonly happening: Happening; readonly firstMs: number }): JSX.Element {
  const { atMs, tone, shape, text, lane, open } = happening;
  return (
    <li>
      <span class={`tone-${tone}`}>
        <Shape name={shape} />
      </span>
      <time class="mono" dateTime={new Date(atMs).toISOString()} title={exact(atMs)}>
        {fineClock(atMs)}
      </time>
      <span class="apart">{atMs === firstMs ? "" : `+${duration(atMs - firstMs)}`}</span>
      <span class="what break">
        <span class="muted">{lane}</span>{" "}
        {open === undefined ? (
          text
        ) : (
          <button type="button" class="plain" onClick={open}>
            {text}
          </button>
        )}
      </span>
    </li>
  );
}

/** Lines with the day before the first of each day, where that is not today alone. */
function linesOf(happenings: readonly Happening[], firstMs: number): readonly JSX.Element[] {
  const days = happenings.map(({ atMs }) => dayOf(atMs));
  const isToday = days.every((day) => day === dayOf(serverNow()));
  return happenings.flatMap((happening, at) => {
    const line = <Line key={`${happening.lane} ${at}`} happening={happening} firstMs={firstMs} />;
    const isNewDay = !isToday && days[at] !== days[at - 1];
    return isNewDay
      ? [
          <li class="day" key={days[at]}>
            {days[at]}
          </li>,
          line,
        ]
      : [line];
  });
}

/** Of more than these the middle is left out until it is asked for: hundreds of replays say the same. */
const linesMax = 40;
const linesAtEnds = 15;

export function HappeningList({ happenings }: { readonly happenings: readonly Happening[] }): JSX.Element {
  const [isWhole, setIsWhole] = useState(false);
  const sorted = happenings.toSorted((one, other) => one.atMs - other.atMs);
  const firstMs = sorted[0]?.atMs ?? 0;
  if (isWhole || sorted.length <= linesMax) return <ol class="happened">{linesOf(sorted, firstMs)}</ol>;
  return (
    <>
      <ol class="happened">{linesOf(sorted.slice(0, linesAtEnds), firstMs)}</ol>
      <p class="happened left-out">
        <button type="button" class="button low" onClick={() => setIsWhole(true)}>
          {words().showMore(sorted.length - 2 * linesAtEnds)}
        </button>
      </p>
      <ol class="happened">{linesOf(sorted.slice(-linesAtEnds), firstMs)}</ol>
    </>
  );
}
