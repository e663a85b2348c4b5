/** Where the protected lane would charge twice, too, run as it is and mended. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Note } from "../../../console/src/parts/note.tsx";
import { limitNames, type LimitName, type StateView } from "../../../shop/src/playground/contract.ts";
import type { LimitRun, LimitView } from "../../../shop/src/playground/limits.ts";
import { ask } from "../api.ts";
import { words } from "../i18n/words.ts";
import { AskLine, askOf, askOwn } from "../parts/ask-line.tsx";
import { ChargeCount } from "../parts/counts.tsx";
import { useDoing } from "../parts/doing.ts";
import { Head } from "../parts/head.tsx";
import { Steps } from "../parts/steps.tsx";
import type { ScreenProps } from "../screen-props.ts";

function Redis({ evicted, doctor }: NonNullable<LimitRun["redis"]>): JSX.Element {
  return (
    <>
      <p class="small">
        {words().limits.evicted(evicted)} <span class="muted">{words().countedBy.redis}</span>
      </p>
      <p class="small" data-doctor={doctor.length}>
        <span class="mono">ichido doctor --only eviction</span>:{" "}
        {doctor.length === 0 ? words().limits.doctorQuiet : <span class="tone-bad">{doctor.join(" ")}</span>}
      </p>
    </>
  );
}

interface SideProps {
  readonly name: string;
  readonly run: LimitRun;
  readonly state: StateView | undefined;
}

function Side({ name, run, state }: SideProps): JSX.Element {
  return (
    <div>
      <h3>{name}</h3>
      <ChargeCount charged={run.charged} price={state?.price} />
      <p class="small muted">
        {words().limits.told} <span class="mono">{run.told}</span>
      </p>
      {run.redis !== undefined && <Redis {...run.redis} />}
    </div>
  );
}

interface LimitProps {
  readonly name: LimitName;
  /** Why it cannot be had here. */
  readonly unavailable: string | undefined;
  readonly state: StateView | undefined;
  readonly again: () => Promise<void>;
}

function Limit({ name, unavailable, state, again }: LimitProps): JSX.Element {
  const [view, setView] = useState<LimitView>();
  const { isBusy, problem, run: work } = useDoing();
  const [title = "", how = "", mend = ""] = words().limits.names[name];
  return (
    <section class={unavailable === undefined ? "card" : "card off"} data-limit={name}>
      <header>
        <h2>{title}</h2>
        <button
          type="button"
          class="button end"
          disabled={isBusy || unavailable !== undefined}
          onClick={() =>
            work(async () => {
              setView(await ask<LimitView>("limits", { limit: name }));
              await again();
            })
          }
        >
          {isBusy ? words().working : words().limits.run}
          <span class="unseen">: {title}</span>
        </button>
      </header>
      <div class="inside stack">
        <p>{how}</p>
        {unavailable !== undefined && <p class="muted">{unavailable}</p>}
        <p>
          <strong class="tone-ok">{words().limits.mended}:</strong> {mend}
        </p>
        {problem !== undefined && <Note tone="bad" icon="warning" title={problem} isAlert />}
        {view !== undefined && (
          <div class="two">
            <Side name={words().limits.broken} run={view.broken} state={state} />
            <Side name={words().limits.mended} run={view.mended} state={state} />
          </div>
        )}
      </div>
    </section>
  );
}

export function Limits({ state, again }: ScreenProps): JSX.Element {
  const whyNot = (name: LimitName): string | undefined =>
    state?.limits.find(({ limit }) => limit === name)?.unavailable;
  return (
    <>
      <Steps at="limits" />
      <Head title={words().limits.title} lead={words().limits.lead} />
      {state?.started === true && <AskLine line={`${askOf(state, "bank")}; ${askOwn("events.jsonl")}`} />}
      {limitNames.map((name) => (
        <Limit key={name} name={name} unavailable={whyNot(name)} state={state} again={again} />
      ))}
    </>
  );
}
