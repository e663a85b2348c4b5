/** How much there is, how fast it grows, how far the sweeper is behind, and where that leads. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { StorageAnswer, StorageSample } from "../contract.ts";
import { bytes, count } from "../amount.ts";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Figures } from "../parts/figures.tsx";
import { Moment } from "../parts/moment.tsx";
import { Note, Shown } from "../parts/note.tsx";
import { Plot, type Series } from "../parts/plot.tsx";
import { useSettings } from "../settings.ts";
import { duration } from "../time.ts";

const everyMs = 60_000;
const dayMs = 86_400_000;
/** The line of the forecast goes on for as long as there was time to draw it from, and no further. */
const forecastPoints = 12;

interface Drawn {
  readonly timesMs: readonly number[];
  readonly series: readonly Series[];
}

function drawn(
  { samples, growth }: StorageAnswer,
  value: (sample: StorageSample) => number,
  perDay: number | undefined,
  name: string,
  ink: Series["ink"],
): Drawn {
  const times = samples.map(({ at }) => Date.parse(at));
  const values = samples.map(value);
  const last = samples.at(-1);
  if (growth === undefined || perDay === undefined || last === undefined)
    return { timesMs: times, series: [{ name, ink, values, isFilled: true }] };
  const lastMs = Date.parse(last.at);
  const aheads = Array.from({ length: forecastPoints }, (_, at) => ((at + 1) * growth.overMs) / forecastPoints);
  const ahead = aheads.map((ms) => Math.max(0, value(last) + (perDay * ms) / dayMs));
  return {
    timesMs: [...times, ...aheads.map((ms) => lastMs + ms)],
    series: [
      { name, ink, values: [...values, ...aheads.map(() => null)], isFilled: true },
      {
        name: words().storage.forecast,
        ink: 5,
        values: [...values.slice(0, -1).map(() => null), value(last), ...ahead],
        isDashed: true,
      },
    ],
  };
}

function Now({ answer: { samples, growth, counted, tookMs } }: { readonly answer: StorageAnswer }): JSX.Element | null {
  const { storage } = words();
  const last = samples.at(-1);
  if (last === undefined) return null;
  const perDay = (value: number, shown: (value: number) => string): string =>
    `${value < 0 ? "−" : "+"}${shown(Math.abs(value))} ${storage.perDay}`;
  return (
    <>
      <Figures
        figures={[
          {
            name: storage.records,
            value: count(last.records),
            under: growth === undefined ? storage.noGrowth : perDay(growth.recordsPerDay, count),
          },
          {
            name: storage.bytes,
            value: bytes(last.bodyBytes),
            under: growth === undefined ? storage.noGrowth : perDay(growth.bodyBytesPerDay, bytes),
          },
          {
            name: storage.sweepLag,
            value: last.sweepLagMs === 0 ? storage.none : duration(last.sweepLagMs),
            ...(last.sweepLagMs > 3_600_000 && { tone: "warn" }),
          },
          {
            name: words().state.unknown,
            value: count(last.unknown),
            ...(last.unknown > 0 && { tone: "warn" }),
            ...(last.oldestUnknownMs > 0 && { under: words().inbox.oldest(duration(last.oldestUnknownMs)) }),
          },
          { name: words().state.processing, value: count(last.processing) },
          { name: words().state.failed, value: count(last.failed) },
        ]}
      />
      <p class="muted small">
        {words().countedBy[counted.by]} · <Moment ms={Date.parse(last.at)} both /> · {storage.took(duration(tookMs))}
      </p>
    </>
  );
}

function Plots({ answer }: { readonly answer: StorageAnswer }): JSX.Element {
  const { storage } = words();
  const { lang } = useSettings();
  const { growth } = answer;
  const records = useMemo(
    () => drawn(answer, ({ records: each }) => each, growth?.recordsPerDay, storage.records, 1),
    [answer, lang],
  );
  const sizes = useMemo(
    () => drawn(answer, ({ bodyBytes }) => bodyBytes, growth?.bodyBytesPerDay, storage.bytes, 4),
    [answer, lang],
  );
  return (
    <div class="two">
      <section class="card">
        <header>
          <h2>{storage.records}</h2>
        </header>
        <Plot label={storage.records} {...records} format={count} />
      </section>
      <section class="card">
        <header>
          <h2>{storage.bytes}</h2>
        </header>
        <Plot label={storage.bytes} {...sizes} format={bytes} />
      </section>
    </div>
  );
}

/** What the present rate leads to once retention removes as much as comes. */
function Retention({ answer: { retention } }: { readonly answer: StorageAnswer }): JSX.Element | null {
  if (retention.length === 0) return null;
  return (
    <section class="card">
      <header>
        <h2>{words().storage.retention}</h2>
      </header>
      <dl class="facts inside">
        {retention.map(({ operation, retentionMs }) => (
          <>
            <dt>{operation}</dt>
            <dd>{duration(retentionMs)}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}

export function Storage(): JSX.Element {
  const loaded = useLoad("storage", (signal) => api.storage(signal), everyMs);
  return (
    <div class="stack">
      <h1>{words().screens.storage}</h1>
      <Shown loaded={loaded}>
        {(answer) => (
          <>
            {answer.problem !== undefined && (
              <Note tone="warn" icon="warning" title={words().storage.problem}>
                <p class="break">{answer.problem}</p>
              </Note>
            )}
            <Now answer={answer} />
            {answer.samples.length < 2 ? <p class="muted">{words().storage.soon}</p> : <Plots answer={answer} />}
            <Retention answer={answer} />
          </>
        )}
      </Shown>
    </div>
  );
}
