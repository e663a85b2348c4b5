/** What was counted in one lane, with who counted it. */
import type { ComponentChildren, JSX } from "preact";
import type { Tone } from "../../../console/src/parts/state.tsx";
import { fineClock } from "../../../console/src/time.ts";
import type { Charged, LaneCounts, LaneName, StateView } from "../../../shop/src/playground/contract.ts";
import { words } from "../i18n/words.ts";
import { AskLine, askOf, askOwn } from "./ask-line.tsx";
import { money } from "./money.ts";

interface CountsProps {
  readonly lane: LaneName;
  readonly counts: LaneCounts | undefined;
  readonly state: StateView | undefined;
}

interface ChargeCountProps {
  readonly charged: Charged | undefined;
  /** What the cart is worth. */
  readonly price: StateView["price"] | undefined;
  readonly children?: ComponentChildren;
}

function toneOf(charged: Charged | undefined): Tone {
  if (charged === undefined || charged.count === 0) return "quiet";
  return charged.tooMany > 0 ? "bad" : "ok";
}

/** How often the bank charged. Nothing was counted yet: there is no number. */
export function ChargeCount({ charged, price, children }: ChargeCountProps): JSX.Element {
  const isTooMany = charged !== undefined && charged.tooMany > 0;
  return (
    <div class={`charges tone-${toneOf(charged)}`}>
      <strong class="big" data-charges={charged?.count}>
        {charged?.count ?? "–"}
      </strong>
      <div>
        <span class="name">{words().charges(charged?.count)}</span>
        <span class="small muted">{words().countedBy.bank}</span>
        {charged !== undefined && charged.count > 0 && price !== undefined && (
          <span class="small" data-sum={charged.sum}>
            {words().sum(money(charged.sum, price.currency))}
            {isTooMany && <strong>, {words().shouldBe(money(price.amount, price.currency))}</strong>}
          </span>
        )}
        {isTooMany && <strong class="small">{words().tooMany(charged.tooMany)}</strong>}
      </div>
      {children}
    </div>
  );
}

function Charges({ counts, state }: Pick<CountsProps, "counts" | "state">): JSX.Element {
  const charges = counts?.bankCharges ?? [];
  return (
    <ChargeCount charged={counts?.charged} price={state?.price}>
      <ul class="small muted">
        {charges.map(({ chargeId, at }) => (
          <li key={chargeId} class="mono">
            {chargeId.slice(0, 9)} {fineClock(Date.parse(at))}
          </li>
        ))}
      </ul>
    </ChargeCount>
  );
}

export function Counts({ lane, counts, state }: CountsProps): JSX.Element {
  const figures = [
    [words().clicks, counts?.buyerClicks, words().countedBy.buyer],
    [words().arrivals, counts?.proxyArrivals, words().countedBy.proxy],
    [words().rows, counts?.databaseRows, words().countedBy.database],
    [words().restarts, counts?.supervisorRestarts, words().countedBy.supervisor],
  ] as const;
  return (
    <>
      <Charges counts={counts} state={state} />
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
