/** An order, its event, and what happens when the event comes again. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Note } from "../../../console/src/parts/note.tsx";
import { lanes, type LaneName } from "../../../shop/src/playground/contract.ts";
import type { OrderCounts, OrderView } from "../../../shop/src/playground/orders.ts";
import { api, ask } from "../api.ts";
import type { ScreenProps } from "../screen-props.ts";
import { words } from "../i18n/words.ts";
import { AskLine, askOwn } from "../parts/ask-line.tsx";
import { LaneHead } from "../parts/counts.tsx";
import { useDoing } from "../parts/doing.ts";
import { Head, LimitsLink } from "../parts/head.tsx";

const TIMES = 5;
const LOOK_MS = 200;
const PATIENCE_MS = 15_000;

async function post(view: Pick<OrderView, "run">, lane: LaneName, path: string, body: object): Promise<boolean> {
  const response = await fetch(`/playground/lanes/${lane}/orders/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "playground-run": view.run },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  return response?.ok === true;
}

const pause = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

/** Until the lane says so; it may be dead just now. */
async function insist(work: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await work()) && Date.now() < deadline;) await pause(LOOK_MS);
}

async function payOrder(fault: "none" | "kill-after-commit", told: (view: OrderView) => void): Promise<void> {
  const { run, orderId } = await api.newRun(fault);
  const look = async (): Promise<OrderView> => {
    const view = await ask<OrderView>(`runs/${run}/order`);
    told(view);
    return view;
  };
  for (const lane of lanes) {
    await api.arm(run, lane);
    await insist(() => post({ run }, lane, `${orderId}/pay`, {}));
    await api.disarm(run, lane);
    await look();
  }
  await insist(async () => (await look()).lanes.protected.mails > 0);
}

function LaneEvents({
  lane,
  counts,
}: {
  readonly lane: LaneName;
  readonly counts: OrderCounts | undefined;
}): JSX.Element {
  const mails = counts?.mails;
  const tone = mails === undefined ? "quiet" : mails === 1 ? "ok" : "bad";
  return (
    <div class="inside stack">
      <p class="small">{lane === "protected" ? words().events.kept : words().events.naive}</p>
      <div class={`charges tone-${tone}`}>
        <strong class="big" data-mails={mails ?? ""}>
          {mails ?? "–"}
        </strong>
        <div>
          <span class="name">{words().events.mails}</span>
          <span class="small muted">{words().countedBy.database}</span>
        </div>
      </div>
      <dl class="counted">
        <div>
          <dt>
            {words().events.stock} <span class="muted">{words().countedBy.database}</span>
          </dt>
          <dd>{counts?.stock ?? "–"}</dd>
        </div>
        <div>
          <dt>
            {words().events.deliveries} <span class="muted">{words().countedBy.lane}</span>
          </dt>
          <dd>{counts?.deliveries ?? "–"}</dd>
        </div>
      </dl>
      {counts !== undefined && <AskLine line={[counts.askMails, counts.askStock, askOwn("events.jsonl")].join("; ")} />}
    </div>
  );
}

export function Events({ state, again }: ScreenProps): JSX.Element {
  const [view, setView] = useState<OrderView>();
  const { isBusy, problem, run: work } = useDoing();
  const deliver = async ({ run, orderId }: OrderView): Promise<void> => {
    for (const lane of lanes) await post({ run }, lane, `${orderId}/deliveries`, { times: TIMES });
    setView(await ask<OrderView>(`runs/${run}/order`));
  };
  const isLost = view !== undefined && !isBusy && view.lanes.unprotected.mails === 0;
  return (
    <>
      <Head title={words().events.title} lead={words().events.lead} />
      <div class="row">
        <button
          type="button"
          class="button main-action"
          disabled={isBusy}
          data-order
          onClick={() => work(() => payOrder("none", setView).then(again))}
        >
          {isBusy ? words().working : words().events.pay}
        </button>
        <button
          type="button"
          class="button"
          disabled={isBusy || view === undefined || isLost}
          data-deliver
          onClick={() => view !== undefined && work(() => deliver(view))}
        >
          {words().events.deliver}
        </button>
        <button
          type="button"
          class="button"
          disabled={isBusy}
          data-order-kill
          onClick={() => work(() => payOrder("kill-after-commit", setView).then(again))}
        >
          {words().events.kill}
        </button>
      </div>
      {problem !== undefined && <Note tone="bad" icon="warning" title={problem} isAlert />}
      {isLost && <Note tone="bad" icon="warning" title={`${words().lanes.unprotected}: ${words().events.lostMail}`} />}
      <div class="lanes-beside">
        {lanes.map((lane) => (
          <section class={`card lane-card ${lane}`} key={lane} aria-label={words().lanes[lane]}>
            <LaneHead lane={lane} state={state} />
            <LaneEvents lane={lane} counts={view?.lanes[lane]} />
          </section>
        ))}
      </div>
      <LimitsLink />
    </>
  );
}
