/** Many buyers at once: what was charged how often, how long it took, and what protection costs. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { count } from "../../../console/src/amount.ts";
import { Note } from "../../../console/src/parts/note.tsx";
import { duration } from "../../../console/src/time.ts";
import { lanes } from "../../../shop/src/playground/contract.ts";
import type { StormView } from "../../../shop/src/playground/storm-view.ts";
import type { StormOrder } from "../../../shop/src/playground/storm-plan.ts";
import { ask } from "../api.ts";
import { words } from "../i18n/words.ts";
import { AskLine, askOf, askOwn } from "../parts/ask-line.tsx";
import { useDoing } from "../parts/doing.ts";
import { Head, LimitsLink } from "../parts/head.tsx";
import { StormCounts } from "../parts/storm-counts.tsx";
import { StormForm } from "../parts/storm-form.tsx";
import { StormHistogram } from "../parts/storm-histogram.tsx";
import { StormPlot } from "../parts/storm-plot.tsx";
import { StormProgress } from "../parts/storm-progress.tsx";
import type { ScreenProps } from "../screen-props.ts";

const EVERY_MS = 500;
const first: StormOrder = {
  payments: 50,
  concurrency: 8,
  seed: 71_934,
  bankMode: "dedupes",
  mix: { kill: 6, cutAfterAnswer: 15, cutBeforeArrival: 5, doubleClick: 20, databaseDrop: 0 },
};

function Result({ view, askBank }: { readonly view: StormView; readonly askBank: string }): JSX.Element {
  return (
    <>
      <section class="card" data-storm={view.state}>
        <header>
          <h2>
            {words().storm.seed} {view.order.seed}
          </h2>
          <span class="muted small">{words().storm.paymentsOf(count(view.order.payments))}</span>
        </header>
        <StormProgress view={view} />
        <StormCounts view={view} />
        <div class="inside">
          <AskLine line={`${askBank}; ${askOwn("storm")}; ${askOwn("events.jsonl")}`} />
        </div>
      </section>
      <div class="lanes-beside">
        {lanes.map((lane) => {
          const slices = view.slices[lane] ?? [];
          const sliceMs = view.sliceMs[lane] ?? 0;
          return slices.length === 0 ? null : (
            <section class="card" key={lane}>
              <header>
                <h2>{words().lanes[lane]}</h2>
                <span class="muted small">{`${words().storm.answers}, ${words().countedBy.proxy}`}</span>
              </header>
              <StormPlot
                label={words().storm.answersOf(words().lanes[lane], duration(sliceMs))}
                slices={slices}
                sliceMs={sliceMs}
                totals={view.totals[lane]}
              />
            </section>
          );
        })}
      </div>
      <section class="card">
        <div class="inside">
          <StormHistogram view={view} />
        </div>
      </section>
    </>
  );
}

export function Storm({ state, again }: ScreenProps): JSX.Element {
  const noDrops = state?.deck.find(({ fault }) => fault === "kill-database-connection")?.unavailable;
  const [order, set] = useState(first);
  const [view, setView] = useState<StormView | null>(null);
  const { isBusy, problem, run: work } = useDoing();
  const follow = async (): Promise<void> => {
    for (;;) {
      const now = await ask<StormView | null>("storm");
      setView(now);
      if (now?.state !== "running" && now?.state !== "stopping") return;
      await new Promise((wake) => setTimeout(wake, EVERY_MS));
    }
  };
  useEffect(() => work(follow), []);
  return (
    <>
      <Head title={words().storm.title} lead={words().storm.lead} />
      <StormForm order={order} set={set} noDrops={noDrops} />
      <div class="row">
        <button
          type="button"
          class="button main-action"
          disabled={isBusy}
          data-start-storm
          onClick={() =>
            work(async () => {
              await ask("storm", order);
              await follow();
              await again();
            })
          }
        >
          {isBusy ? words().working : words().storm.start}
        </button>
        <span class="muted small">{words().storm.seedNote}</span>
      </div>
      {problem !== undefined && <Note tone="bad" icon="warning" title={problem} isAlert />}
      {view !== null && <Result view={view} askBank={askOf(state, "bank")} />}
      <LimitsLink />
    </>
  );
}
