/** The deck: one fault for the next payment, and what became of it in both lanes. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Note } from "../../../console/src/parts/note.tsx";
import {
  bankModes,
  lanes,
  type BankMode,
  type FaultName,
  type FaultView,
  type RunView,
} from "../../../shop/src/playground/contract.ts";
import { ask } from "../api.ts";
import type { ScreenProps } from "../screen-props.ts";
import { payUnder, resume } from "../checkout.ts";
import { words } from "../i18n/words.ts";
import { Counts, LaneHead } from "../parts/counts.tsx";
import { useDoing } from "../parts/doing.ts";
import { Head, LimitsLink } from "../parts/head.tsx";
import { RunTimeline } from "../parts/run-timeline.tsx";
import { useRun } from "../parts/watch.ts";

interface DeckProps {
  readonly deck: readonly FaultView[];
  readonly chosen: FaultName;
  readonly choose: (fault: FaultName) => void;
}

function Deck({ deck, chosen, choose }: DeckProps): JSX.Element {
  return (
    <fieldset class="deck">
      <legend>{words().faults.choose}</legend>
      {deck.map(({ fault, expected, unavailable }) => {
        const [name = "", how = ""] = words().faults.names[fault];
        return (
          <label key={fault} class={unavailable === undefined ? "" : "off"}>
            <input
              type="radio"
              name="fault"
              value={fault}
              checked={chosen === fault}
              disabled={unavailable !== undefined}
              onChange={() => choose(fault)}
            />
            <span>
              <strong>{name}</strong>
              <span class="small muted">{unavailable ?? how}</span>
              {unavailable === undefined && (
                <span class="small muted">{words().faults.pageSays(expected.unprotected, expected.protected)}</span>
              )}
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}

function BankModes({ state, again, isBusy }: ScreenProps & { readonly isBusy: boolean }): JSX.Element {
  return (
    <label class="field inline">
      <span>{words().faults.bankMode}</span>
      <select
        class="input"
        value={state?.bankMode ?? "dedupes"}
        disabled={isBusy}
        onChange={({ currentTarget }) => void ask("bank", { mode: currentTarget.value }).then(again)}
      >
        {bankModes.map((mode: BankMode) => (
          <option key={mode} value={mode}>
            {words().faults.bankModes[mode]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Said when both lanes are through, and not before. */
function Verdict({ view, deck }: { readonly view: RunView; readonly deck: readonly FaultView[] }): JSX.Element | null {
  const expected = deck.find(({ fault }) => fault === view.fault)?.expected;
  const charged = lanes.map((lane) => view.lanes[lane].bankCharges.length);
  if (expected === undefined || charged.includes(0)) return null;
  const isAsSaid = lanes.every((lane, at) => charged[at] === expected[lane]);
  const title = `${isAsSaid ? words().faults.asSaid : words().faults.notAsSaid}: ${charged.join(" · ")}`;
  return (
    <div data-verdict={isAsSaid ? "as-said" : "not-as-said"}>
      <Note tone={isAsSaid ? "ok" : "bad"} icon={isAsSaid ? "done" : "warning"} title={title}>
        <p class="small muted">{words().countedBy.bank}</p>
      </Note>
    </div>
  );
}

export function Faults({ state, again }: ScreenProps): JSX.Element {
  const [chosen, choose] = useState<FaultName>("kill-after-charge");
  const [run, setRun] = useState<string>();
  const [resumed, setResumed] = useState<Awaited<ReturnType<typeof resume>>>();
  const { isBusy, problem, run: work } = useDoing();
  const view = useRun(run, isBusy);
  const deck = state?.deck ?? [];
  useEffect(() => {
    work(async () => {
      const found = await resume();
      if (found === undefined) return;
      setResumed(found);
      setRun(found.run);
      await again();
    });
  }, []);
  return (
    <>
      <Head title={words().faults.title} lead={words().faults.lead} />
      <Deck deck={deck} chosen={chosen} choose={choose} />
      <div class="row">
        <button
          type="button"
          class="button main-action"
          disabled={isBusy}
          data-run-fault
          onClick={() => {
            setRun(undefined);
            setResumed(undefined);
            work(() => payUnder(chosen, setRun).then(again));
          }}
        >
          {isBusy ? words().working : words().faults.run}
        </button>
        <BankModes state={state} again={again} isBusy={isBusy} />
      </div>
      {problem !== undefined && <Note tone="bad" icon="warning" title={problem} isAlert />}
      {resumed !== undefined && (
        <Note tone="run" title={words().faults.reloaded}>
          {resumed.key !== undefined && (
            <p class="small">
              {words().faults.keyFound}{" "}
              <span class="mono" data-key-found>
                {resumed.key}
              </span>
            </p>
          )}
        </Note>
      )}
      {view !== undefined && (
        <>
          {!isBusy && <Verdict view={view} deck={deck} />}
          <div class="lanes-beside">
            {lanes.map((lane) => (
              <section class={`card lane-card ${lane}`} key={lane} aria-label={words().lanes[lane]}>
                <LaneHead lane={lane} state={state} />
                <div class="inside stack">
                  <Counts lane={lane} counts={view.lanes[lane]} state={state} />
                </div>
              </section>
            ))}
          </div>
          <RunTimeline view={view} />
          <LimitsLink />
        </>
      )}
    </>
  );
}
