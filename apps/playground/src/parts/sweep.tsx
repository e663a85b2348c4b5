/** A sweep on a lane of its own: keys as a step down, and what they took as room for the next. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { bytes } from "../../../console/src/amount.ts";
import { Note } from "../../../console/src/parts/note.tsx";
import { duration } from "../../../console/src/time.ts";
import type { SweepView } from "../../../shop/src/playground/contract.ts";
import { ask } from "../api.ts";
import { words } from "../i18n/words.ts";
import { AskLine } from "./ask-line.tsx";
import { useDoing } from "./doing.ts";
import { SecondsPlot } from "./seconds-plot.tsx";

function Swept({ view }: { readonly view: SweepView }): JSX.Element {
  const { samples, deleted, sweptFromMs, sweptUntilMs, payments } = view;
  const { storage, countedBy } = words();
  const atMs = samples.map((sample) => sample.atMs);
  const last = samples.at(-1);
  return (
    <>
      <p class="inside" data-swept={deleted}>
        {storage.swept(deleted, duration(sweptUntilMs - sweptFromMs))}{" "}
        <span class="muted small">{countedBy.engine}.</span>{" "}
        {last !== undefined && (
          <>
            {storage.sweptBytes(payments, bytes(last.bytes), bytes(last.bytesInUse))}{" "}
            <span class="muted small">{countedBy.database}.</span>
          </>
        )}
      </p>
      <div class="inside">
        <AskLine line={view.ask} />
      </div>
      <div class="two plots">
        <SecondsPlot
          label={storage.sweptKeys}
          toldOf={storage.atEnd}
          atMs={atMs}
          series={[{ name: storage.keys, ink: 0, values: samples.map(({ keys }) => keys) }]}
        />
        <SecondsPlot
          label={storage.growthBytes}
          toldOf={storage.atEnd}
          atMs={atMs}
          series={[
            { name: storage.file, ink: 3, values: samples.map((sample) => sample.bytes) },
            { name: storage.inUse, ink: 0, values: samples.map(({ bytesInUse }) => bytesInUse) },
          ]}
          format={bytes}
        />
      </div>
    </>
  );
}

export function Sweep(): JSX.Element {
  const [view, setView] = useState<SweepView>();
  const { isBusy, problem, run: work } = useDoing();
  const { storage, working } = words();
  return (
    <section class="card" aria-label={storage.sweep}>
      <header>
        <h2>{storage.sweep}</h2>
        <span class="muted small">{storage.sweepLead}</span>
        <button
          type="button"
          class="button end"
          disabled={isBusy}
          data-sweep
          onClick={() => work(async () => setView(await ask<SweepView>("sweep", {})))}
        >
          {isBusy ? working : storage.sweepRun}
        </button>
      </header>
      {problem !== undefined && <Note tone="bad" icon="warning" title={problem} isAlert />}
      {view !== undefined && <Swept view={view} />}
    </section>
  );
}
