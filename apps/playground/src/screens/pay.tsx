/** The first screen: press Pay twice in each lane, and look at what the bank has. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Note } from "../../../console/src/parts/note.tsx";
import type { Cart, Said } from "../../../shop/src/playground/buyer.ts";
import { lanes, type LaneName } from "../../../shop/src/playground/contract.ts";
import type { ShownFile } from "../../../shop/src/playground/code-shown.ts";
import { api, ask } from "../api.ts";
import type { ScreenProps } from "../screen-props.ts";
import { click } from "../checkout.ts";
import { words } from "../i18n/words.ts";
import { Counts, LaneHead } from "../parts/counts.tsx";
import { Head, LimitsLink } from "../parts/head.tsx";
import { money } from "../parts/money.ts";
import { Steps } from "../parts/steps.tsx";
import { useRun } from "../parts/watch.ts";

type Saw = Readonly<Record<LaneName, readonly Said[]>>;
const nothing: Saw = { unprotected: [], protected: [] };

function sawOf({ paid, replayed }: Said): string {
  if (!paid) return words().pay.notPaid;
  return replayed ? words().pay.paidReplayed : words().pay.paid;
}

/** A click is never held back here: what two of them do is the question. */
function useCart(again: () => Promise<void>) {
  const cart = useRef<Promise<Cart> | undefined>(undefined);
  const [run, setRun] = useState<string>();
  const [busy, setBusy] = useState(0);
  const [saw, setSaw] = useState(nothing);
  const [problem, setProblem] = useState<string>();
  const pay = async (lane: LaneName): Promise<void> => {
    setBusy((count) => count + 1);
    const mine = (cart.current ??= api.newRun("none"));
    // A new cart may have come meanwhile: what is heard of this one is not the other's.
    const isShown = (): boolean => cart.current === mine;
    try {
      const order = await mine;
      if (isShown()) setRun(order.run);
      const said = await click(lane, order);
      if (isShown()) setSaw((before) => ({ ...before, [lane]: [...before[lane], said] }));
      await again();
    } catch (error) {
      if (!isShown()) return;
      cart.current = undefined;
      setProblem(`${words().failed}: ${(error as Error).message}`);
    } finally {
      setBusy((count) => count - 1);
    }
  };
  const empty = (): void => {
    cart.current = undefined;
    setRun(undefined);
    setSaw(nothing);
    setProblem(undefined);
  };
  return { run, isBusy: busy > 0, saw, problem, pay, empty };
}

function Difference(): JSX.Element {
  const [files, setFiles] = useState<readonly ShownFile[]>([]);
  useEffect(() => {
    void ask<readonly ShownFile[]>("code").then(setFiles, () => undefined);
  }, []);
  return (
    <section class="card">
      <header>
        <h2>{words().pay.difference}</h2>
        <span class="muted small">{words().pay.differenceLead}</span>
      </header>
      <div class="inside stack">
        {files.map(({ name, only, lines }) => (
          <details key={name} open={name === "protected.ts"} data-file={name}>
            <summary>
              <span class="mono">{name}</span>{" "}
              <span class="muted">{only === undefined ? words().pay.inBoth : words().lanes[only]}</span>
            </summary>
            <pre class="source" tabIndex={0} aria-label={name}>
              {lines.map(({ text, isOnlyHere }, at) => (
                <code key={at} class={isOnlyHere ? `only ${only}` : undefined}>
                  {isOnlyHere ? "+ " : "  "}
                  {text}
                  {"\n"}
                </code>
              ))}
            </pre>
          </details>
        ))}
      </div>
    </section>
  );
}

export function Pay({ state, again }: ScreenProps): JSX.Element {
  const { run, isBusy, saw, problem, pay, empty } = useCart(again);
  const view = useRun(run, isBusy);
  const price = state === undefined ? "" : money(state.price.amount, state.price.currency);
  const bank = state?.processes.find(({ name }) => name === "bank");
  return (
    <>
      <Steps at="pay" />
      <Head title={words().pay.title} lead={words().pay.lead} />
      {problem !== undefined && <Note tone="bad" icon="warning" title={problem} isAlert />}
      <div class="lanes-beside">
        {lanes.map((lane) => (
          <section class={`card lane-card ${lane}`} key={lane} aria-label={words().lanes[lane]}>
            <LaneHead lane={lane} state={state} />
            <div class="inside stack">
              <p class="product">
                <span>{words().pay.product}</span> <strong>{price}</strong>
              </p>
              <div class="row">
                <button type="button" class="button main-action" data-pay={lane} onClick={() => void pay(lane)}>
                  {words().pay.pay(price)}
                </button>
                <button
                  type="button"
                  class="button"
                  data-pay-twice={lane}
                  onClick={() => void Promise.all([pay(lane), pay(lane)])}
                >
                  {words().pay.payTwice}
                </button>
              </div>
              <Counts lane={lane} counts={view?.lanes[lane]} state={state} />
              <p class="small">
                <span class="muted">{words().pay.saw}:</span>{" "}
                <span data-saw={lane}>{saw[lane].map(sawOf).join(" · ") || "–"}</span>
              </p>
            </div>
          </section>
        ))}
      </div>
      <div class="row">
        <button type="button" class="button" onClick={empty} disabled={run === undefined}>
          {words().pay.newCart}
        </button>
        <span role="status" class="muted small">
          {isBusy ? words().working : ""}
        </span>
        {bank !== undefined && <span class="muted small">{words().pay.sameBank(bank.pid)}</span>}
      </div>
      <LimitsLink />
      <Difference />
    </>
  );
}
