/** The deck: one fault for the next payment, and what became of it in both lanes. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Note } from "../../../console/src/parts/note.tsx";
import { change, hashOf, usePlace } from "../../../console/src/router.ts";
import {
  bankModes,
  faultNames,
  lanes,
  type BankMode,
  type FaultName,
  type FaultView,
  type LaneName,
  type RunView,
} from "../../../shop/src/playground/contract.ts";
import { ask } from "../api.ts";
import type { ScreenProps } from "../screen-props.ts";
import { payUnder, resume } from "../checkout.ts";
import { words } from "../i18n/words.ts";
import { Breakable } from "../parts/breakable.tsx";
import { Counts, LaneHead } from "../parts/counts.tsx";
import { useDoing } from "../parts/doing.ts";
import { Head, LimitsLink } from "../parts/head.tsx";
import { RunTimeline } from "../parts/run-timeline.tsx";
import { Steps } from "../parts/steps.tsx";
import { useRun } from "../parts/watch.ts";

type LaneChoice = LaneName | "both";

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
              <span class="small muted">{unavailable === undefined ? how : <Breakable text={unavailable} />}</span>
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

interface LaneChoiceProps {
  readonly chosen: LaneChoice;
  readonly choose: (lanes: LaneChoice) => void;
}

function ChooseLanes({ chosen, choose }: LaneChoiceProps): JSX.Element {
  return (
    <label class="field inline">
      <span>{words().faults.lanes}</span>
      <select
        class="input"
        name="lanes"
        value={chosen}
        onChange={({ currentTarget }) => choose(currentTarget.value as LaneChoice)}
      >
        <option value="both">{words().faults.bothLanes}</option>
        {lanes.map((lane) => (
          <option key={lane} value={lane}>
            {words().lanes[lane]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Said when the lanes that were paid in are through, and not before. */
function Verdict({ view, deck }: { readonly view: RunView; readonly deck: readonly FaultView[] }): JSX.Element | null {
  const expected = deck.find(({ fault }) => fault === view.fault)?.expected;
  const paidIn = lanes.filter((lane) => view.lanes[lane].buyerClicks > 0);
  const countOf = (lane: LaneName): number => view.lanes[lane].charged.count;
  if (expected === undefined || paidIn.length === 0 || paidIn.some((lane) => countOf(lane) === 0)) return null;
  const isAsSaid = paidIn.every((lane) => countOf(lane) === expected[lane]);
  const { asSaid, notAsSaid, names } = words().faults;
  const charged = paidIn.map((lane) => `${words().lanes[lane]} ${countOf(lane)}`).join(" · ");
  const title = (isAsSaid ? asSaid : notAsSaid)(names[view.fault][0] ?? "", charged);
  return (
    <div data-verdict={isAsSaid ? "as-said" : "not-as-said"}>
      <Note tone={isAsSaid ? "ok" : "bad"} icon={isAsSaid ? "done" : "warning"} title={title}>
        <p class="small muted">{words().countedBy.bank}</p>
      </Note>
    </div>
  );
}

/** The address says what was chosen: a reload, also one in mid-payment, finds it again. */
function useChoice() {
  const { path, query } = usePlace();
  const fault = faultNames.find((name) => name === query["fault"]) ?? "kill-after-charge";
  const paidIn: LaneChoice = lanes.find((lane) => lane === query["lanes"]) ?? "both";
  return {
    fault,
    paidIn,
    choose: (next: { readonly fault?: FaultName; readonly lanes?: LaneChoice }) => change(path, { ...query, ...next }),
  };
}

export function Faults({ state, again }: ScreenProps): JSX.Element {
  const { fault: chosen, paidIn, choose } = useChoice();
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
      <Steps at="faults" />
      <Head title={words().faults.title} lead={words().faults.lead} />
      <Deck deck={deck} chosen={chosen} choose={(fault) => choose({ fault })} />
      <p class="small muted">
        {words().faults.event} <a href={hashOf(["events"])}>{words().screens.events}</a>
      </p>
      <div class="row">
        <button
          type="button"
          class="button main-action"
          disabled={isBusy}
          data-run-fault
          onClick={() => {
            setRun(undefined);
            setResumed(undefined);
            work(() => payUnder(chosen, paidIn === "both" ? lanes : [paidIn], setRun).then(again));
          }}
        >
          {isBusy ? words().working : words().faults.run}
        </button>
        <ChooseLanes chosen={paidIn} choose={(next) => choose({ lanes: next })} />
        <BankModes state={state} again={again} isBusy={isBusy} />
      </div>
      {state?.bankMode === "ignores-references" && (
        <div data-bank-note>
          <Note tone="run" title={words().faults.ignoresReferences}>
            <LimitsLink />
          </Note>
        </div>
      )}
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
