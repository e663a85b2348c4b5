/** Events that wait to be sent: how many, for how long, which keys are parked; relays can be paused. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { OutboxAnswer } from "../contract.ts";
import { count } from "../amount.ts";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { announce } from "../parts/copy.tsx";
import { ActionButton, Decision } from "../parts/dialog.tsx";
import { Figures } from "../parts/figures.tsx";
import { Moment } from "../parts/moment.tsx";
import { Note, Shown } from "../parts/note.tsx";
import { Table, type Column } from "../parts/table.tsx";
import { go, type Place } from "../router.ts";
import { useHindrance } from "../session.ts";
import { duration } from "../time.ts";
import { Letters } from "./letters.tsx";

const everyMs = 15_000;

function Pausing({
  outbox: { paused, seen },
  again,
}: {
  readonly outbox: Pick<OutboxAnswer, "paused" | "seen">;
  readonly again: () => void;
}): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const hindrance = useHindrance("events");
  const action = paused === undefined ? "pause" : "resume";
  const { title, verb, consequence } = words().relayVerbs[action];
  return (
    <>
      <ActionButton hindrance={hindrance} onClick={() => setIsOpen(true)}>
        {verb}
      </ActionButton>
      {isOpen && (
        <Decision
          title={title}
          verb={verb}
          close={() => setIsOpen(false)}
          act={async (reason) => {
            await api.pause(action, { reason, seen });
            announce(words().written);
            setIsOpen(false);
            again();
          }}
        >
          <p>{consequence}</p>
        </Decision>
      )}
    </>
  );
}

type Parked = OutboxAnswer["parked"][number];

function parkedColumns(): readonly Column<Parked>[] {
  const { columns } = words();
  return [
    { head: columns.key, cell: ({ key }) => <span class="mono">{key}</span>, lead: true },
    { head: columns.topic, cell: ({ topic }) => topic },
    { head: columns.reason, cell: ({ reason }) => words().deadReason(reason) },
    { head: columns.since, cell: ({ since }) => <Moment ms={Date.parse(since)} /> },
    {
      head: columns.until,
      cell: ({ until }) => (until === undefined ? words().untilPerson : <Moment ms={Date.parse(until)} />),
    },
    { head: columns.error, cell: ({ error }) => error, loose: true },
  ];
}

function Waiting({ answer: { stats, parked, paused } }: { readonly answer: OutboxAnswer }): JSX.Element {
  const { outbox } = words();
  return (
    <>
      {paused !== undefined && (
        <Note tone="warn" icon="pause" title={outbox.paused}>
          <p>
            {paused.actor}: {paused.reason} · <Moment ms={Date.parse(paused.since)} both />
          </p>
        </Note>
      )}
      <Figures
        figures={[
          { name: outbox.pending, value: count(stats.pending) },
          { name: outbox.oldest, value: stats.oldestMs === 0 ? "–" : duration(stats.oldestMs) },
          { name: outbox.dead, value: count(stats.dead), ...(stats.dead > 0 && { tone: "warn" }) },
          { name: outbox.parked, value: count(stats.parked), ...(stats.parked > 0 && { tone: "warn" }) },
          { name: outbox.relays, value: count(stats.relays), ...(stats.relays === 0 && { tone: "warn" }) },
        ]}
      />
      {parked.length > 0 && (
        <section class="card">
          <header>
            <h2>{outbox.parkedKeys}</h2>
          </header>
          <Table
            caption={outbox.parkedKeys}
            columns={parkedColumns()}
            rows={parked}
            keyOf={({ topic, key }) => `${topic} ${key}`}
            open={({ letter }) => go(["outbox", letter])}
          />
        </section>
      )}
    </>
  );
}

export function Outbox({ place }: { readonly place: Place }): JSX.Element {
  const loaded = useLoad("outbox", (signal) => api.outbox(signal), everyMs);
  return (
    <div class="stack">
      <div class="head">
        <h1>{words().screens.outbox}</h1>
        {loaded.value !== undefined && (
          <span class="end">
            <Pausing outbox={loaded.value} again={loaded.again} />
          </span>
        )}
      </div>
      <Shown loaded={loaded}>{(answer) => <Waiting answer={answer} />}</Shown>
      {loaded.value !== undefined && <Letters side="outbox" place={place} turn={loaded.value.stats.dead} />}
    </div>
  );
}
