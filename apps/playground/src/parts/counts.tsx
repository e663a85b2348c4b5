/** What was counted in one lane, with who counted it. */
import type { JSX } from "preact";
import { fineClock } from "../../../console/src/time.ts";
import type { LaneCounts, LaneName, StateView } from "../../../shop/src/playground/contract.ts";
import { words } from "../i18n/words.ts";
import { AskLine, askOf, askOwn } from "./ask-line.tsx";

interface CountsProps {
  readonly lane: LaneName;
  readonly counts: LaneCounts | undefined;
  readonly state: StateView | undefined;
  /** Charges that are right. */
  readonly expected?: number | undefined;
}

export function Charges({ counts, expected = 1 }: Pick<CountsProps, "counts" | "expected">): JSX.Element {
  const charges = counts?.bankCharges ?? [];
  const tooMany = charges.length - 1;
  const tone = charges.length === 0 ? "quiet" : tooMany > 0 ? "bad" : "ok";
  return (
    <div class={`charges tone-${tone}`}>
      <strong class="big" data-charges={charges.length} data-expected={expected}>
        {charges.length}
      </strong>
      <div>
        <span class="name">{words().charges}</span>
        <span class="small muted">{words().countedBy.bank}</span>
        {tooMany > 0 && <strong class="small">{words().tooMany(tooMany)}</strong>}
      </div>
      <ul class="small muted">
        {charges.map(({ chargeId, at }) => (
          <li key={chargeId} class="mono">
            {chargeId.slice(0, 9)} {fineClock(Date.parse(at))}
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Counts({ lane, counts, state, expected }: CountsProps): JSX.Element {
  const figures = [
    [words().arrivals, counts?.proxyArrivals, words().countedBy.proxy],
    [words().rows, counts?.databaseRows, words().countedBy.database],
    [words().restarts, counts?.supervisorRestarts, words().countedBy.supervisor],
  ] as const;
  return (
    <>
      <Charges counts={counts} expected={expected} />
      <dl class="counted">
        {figures.map(([name, value, by]) => (
          <div key={name}>
            <dt>
              {name} <span class="muted">{by}</span>
            </dt>
            <dd>{value ?? "–"}</dd>
          </div>
        ))}
      </dl>
      {state?.started === true && (
        <AskLine line={[askOf(state, "bank"), askOf(state, lane), askOwn("events.jsonl")].join("; ")} />
      )}
    </>
  );
}

export function LaneHead({ lane, state }: Pick<CountsProps, "lane" | "state">): JSX.Element {
  const process = state?.processes.find(({ name }) => name === lane);
  return (
    <header>
      <h2>{words().lanes[lane]}</h2>
      <span class="muted small">{process === undefined ? words().notStarted : words().pid(process.pid)}</span>
      {process?.lastRestartMs !== undefined && (
        <span class="muted small end">{words().restartTook(process.lastRestartMs)}</span>
      )}
    </header>
  );
}
