/** Rows and bytes, as the lanes' databases count them. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { bytes, count } from "../../../console/src/amount.ts";
import { Figures } from "../../../console/src/parts/figures.tsx";
import { Note } from "../../../console/src/parts/note.tsx";
import { lanes } from "../../../shop/src/playground/contract.ts";
import { KEYS_PER_DAY_MAX } from "../../../shop/src/playground/forecast.ts";
import type { StorageView } from "../../../shop/src/playground/storage.ts";
import { ask } from "../api.ts";
import { words } from "../i18n/words.ts";
import { AskLine, askOwn } from "../parts/ask-line.tsx";
import { useDoing } from "../parts/doing.ts";
import { Forecasts } from "../parts/forecasts.tsx";
import { GrowthPlots } from "../parts/growth-plots.tsx";
import { Head, LimitsLink } from "../parts/head.tsx";
import { Slider } from "../parts/slider.tsx";
import { Sweep } from "../parts/sweep.tsx";
import type { ScreenProps } from "../screen-props.ts";

const EVERY_MS = 2_000;
/** A slider that is drawn asks when it rests. */
const SOON_MS = 100;
const RETENTION_DAYS_MAX = 90;

function Lane({ view, lane }: { readonly view: StorageView; readonly lane: (typeof lanes)[number] }): JSX.Element {
  const { payments, bytes: size, askPayments, askBytes } = view.lanes[lane];
  const under = words().countedBy.database;
  const figures = [
    { name: words().storage.payments, value: count(payments), under },
    { name: words().storage.bytes, value: bytes(size), under },
    ...(lane === "protected" ? [{ name: words().storage.keys, value: count(view.keys), under }] : []),
  ];
  const lines = [askPayments, askBytes, ...(lane === "protected" ? [view.askKeys] : [])];
  return (
    <section class={`card lane-card ${lane}`} aria-label={words().lanes[lane]}>
      <header>
        <h2>{words().lanes[lane]}</h2>
      </header>
      <div class="inside stack">
        <Figures figures={figures} />
        <AskLine line={lines.join("; ")} />
      </div>
    </section>
  );
}

export function Storage({ again }: ScreenProps): JSX.Element {
  const [perDay, setPerDay] = useState<number>();
  const [days, setDays] = useState(30);
  const [view, setView] = useState<StorageView>();
  const { isBusy, problem, run: work } = useDoing();
  const path = `storage?days=${days}${perDay === undefined ? "" : `&perDay=${perDay}`}`;
  const read = (): void =>
    work(async () => {
      setView(await ask<StorageView>(path));
      await again();
    });
  useEffect(read, []);
  // At once when something else is asked; and what others write, a storm in another tab for one, as it comes.
  useEffect(() => {
    let isAsked = true;
    const look = (): void =>
      void ask<StorageView>(path).then(
        (told) => isAsked && setView(told),
        () => undefined,
      );
    const soon = setTimeout(look, SOON_MS);
    const timer = setInterval(look, EVERY_MS);
    return () => {
      isAsked = false;
      clearTimeout(soon);
      clearInterval(timer);
    };
  }, [path]);
  return (
    <>
      <Head title={words().storage.title} lead={words().storage.lead} />
      {problem !== undefined && <Note tone="bad" icon="warning" title={problem} isAlert />}
      <section class="card" aria-label={words().storage.forecast}>
        <header>
          <h2>{words().storage.forecast}</h2>
          <span class="muted small">{words().storage.forecastLead}</span>
        </header>
        <div class="inside stack">
          <div class="fields">
            <Slider
              name="days"
              label={words().storage.days}
              value={days}
              min={1}
              max={RETENTION_DAYS_MAX}
              shown={words().storage.daysOf(days)}
              change={(value) => {
                setDays(value);
                return value;
              }}
            />
            <label class="field">
              <span>{words().storage.perDay}</span>
              <input
                class="input"
                type="number"
                name="perDay"
                min={1}
                max={KEYS_PER_DAY_MAX}
                value={perDay ?? ""}
                onChange={({ currentTarget }) =>
                  setPerDay(currentTarget.validity.valid ? currentTarget.valueAsNumber || undefined : undefined)
                }
              />
            </label>
            <button type="button" class="button" disabled={isBusy} onClick={read}>
              {words().storage.refresh}
            </button>
          </div>
          {view !== undefined && <Forecasts view={view} />}
          <AskLine line={askOwn(path)} />
        </div>
      </section>
      {view !== undefined && (
        <>
          <div class="lanes-beside">
            {lanes.map((lane) => (
              <Lane key={lane} lane={lane} view={view} />
            ))}
          </div>
          <GrowthPlots samples={view.growth} />
        </>
      )}
      <Sweep />
      <LimitsLink />
    </>
  );
}
