/** Requests as they are answered, the newest first. Pausing keeps what is read in place; what comes meanwhile is counted. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { LiveAttemptView, LiveMessage } from "../contract.ts";
import { words } from "../i18n/words.ts";
import { onKeys } from "../keyboard.ts";
import { Pills } from "../parts/chips.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, Note } from "../parts/note.tsx";
import { KeyLink } from "../parts/record-cells.tsx";
import { Outcome } from "../parts/state.tsx";
import { Table, type Column } from "../parts/table.tsx";
import { change, chosenOn, go, hashOf, type Place, type Query } from "../router.ts";
import { duration, exact, fineClock } from "../time.ts";

const rowsMax = 200;
const drawEveryMs = 250;
const kinds = ["", "executed", "replayed", "refused", "unknown"] as const;
type Kind = (typeof kinds)[number];

interface Row extends LiveAttemptView {
  readonly number: number;
}

interface Stream {
  readonly rows: readonly Row[];
  readonly held: readonly Row[];
  readonly source: "log" | "process" | undefined;
  readonly trouble: string | undefined;
  readonly skipped: number;
  readonly isConnected: boolean;
  /** The browser does not connect again by itself. */
  readonly isRefused: boolean;
}

const none: Stream = {
  rows: [],
  held: [],
  source: undefined,
  trouble: undefined,
  skipped: 0,
  isConnected: false,
  isRefused: false,
};

function kindOf({ outcome, leftOpen }: Pick<Row, "outcome" | "leftOpen">): Kind {
  if (leftOpen) return "unknown";
  if (outcome === "executed") return "executed";
  if (outcome === "replayed" || outcome === "replayed_after_wait") return "replayed";
  return outcome === "outcome_unknown" || outcome === "store_error" ? "unknown" : "refused";
}

let numbered = 0;

function received(before: Stream, message: LiveMessage, isPaused: boolean): Stream {
  switch (message.type) {
    case "hello":
      return { ...before, source: message.source, isConnected: true, isRefused: false, trouble: undefined };
    case "trouble":
      return { ...before, trouble: message.message };
    case "skipped":
      return { ...before, skipped: before.skipped + message.count };
    case "attempt": {
      const row: Row = { ...message.attempt, number: (numbered += 1) };
      const into = isPaused ? "held" : "rows";
      return { ...before, trouble: undefined, [into]: [row, ...before[into]].slice(0, rowsMax) };
    }
  }
}

function useLive(isPaused: boolean, turn: number): Stream {
  const [stream, setStream] = useState<Stream>(none);
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    // The browser itself connects again, and says where it was.
    const source = new EventSource("api/live");
    const waiting: LiveMessage[] = [];
    // However fast they come, the page is drawn a few times a second.
    const timer = setInterval(() => {
      const messages = waiting.splice(0);
      if (messages.length > 0)
        setStream((before) => messages.reduce((now, message) => received(now, message, paused.current), before));
    }, drawEveryMs);
    const take = (event: MessageEvent<string>): void => void waiting.push(JSON.parse(event.data) as LiveMessage);
    for (const type of ["hello", "attempt", "trouble", "skipped"]) source.addEventListener(type, take);
    source.addEventListener("error", () => {
      const isRefused = source.readyState === EventSource.CLOSED;
      setStream((before) => ({ ...before, isConnected: false, isRefused }));
    });
    return () => {
      clearInterval(timer);
      source.close();
    };
  }, [turn]);
  useEffect(() => {
    if (!isPaused)
      setStream((before) => ({ ...before, rows: [...before.held, ...before.rows].slice(0, rowsMax), held: [] }));
  }, [isPaused]);
  return stream;
}

function columnsOf(): readonly Column<Row>[] {
  const { columns } = words();
  return [
    {
      head: columns.when,
      cell: ({ at }) => (
        <time class="mono" dateTime={at} title={exact(Date.parse(at))}>
          {fineClock(Date.parse(at))}
        </time>
      ),
    },
    {
      head: columns.outcome,
      cell: ({ outcome, status, leftOpen }) => <Outcome outcome={outcome} status={status} leftOpen={leftOpen} />,
      lead: true,
    },
    {
      head: columns.id,
      cell: ({ handle, id }) =>
        handle === undefined ? <span class="mono">{id}</span> : <KeyLink handle={handle} id={id} />,
    },
    { head: columns.operation, cell: ({ operation }) => operation },
    { head: columns.took, cell: ({ tookMs }) => duration(tookMs), align: "right" },
    { head: columns.run, cell: ({ attempt }) => attempt, align: "right" },
    { head: columns.process, cell: ({ process, release }) => [process, release].filter(Boolean).join(" ") },
    { head: columns.askedBy, cell: ({ askedBy }) => askedBy, loose: true },
  ];
}

function Status({ stream, again }: { readonly stream: Stream; readonly again: () => void }): JSX.Element {
  const { live } = words();
  if (stream.isRefused)
    return (
      <Note tone="bad" icon="warning" title={live.refused} isAlert>
        <p>{live.refusedAdvice}</p>
        <button type="button" class="button" onClick={again}>
          {words().tryAgain}
        </button>
      </Note>
    );
  return (
    <>
      {stream.trouble !== undefined && <Note tone="warn" icon="warning" title={live.trouble} />}
      {!stream.isConnected && stream.source !== undefined && <Note tone="warn" icon="warning" title={live.lost} />}
      {stream.source === "process" && <Note tone="quiet" title={live.processOnly} />}
      {stream.skipped > 0 && <Note tone="warn" title={live.skipped(stream.skipped)} />}
    </>
  );
}

export function Live({ place }: { readonly place: Place }): JSX.Element {
  const isPaused = place.query["paused"] !== undefined;
  const { kind = "" } = place.query;
  const [turn, setTurn] = useState(0);
  const stream = useLive(isPaused, turn);
  const turnTo = (more: Query): void => change(["live"], { ...chosenOn("live"), ...more });
  const toggle = (): void => turnTo({ paused: isPaused ? undefined : "1" });
  const latest = useRef(toggle);
  latest.current = toggle;
  useEffect(() => onKeys({ p: () => latest.current() }), []);
  const rows = stream.rows.filter((row) => kind === "" || kindOf(row) === kind);
  const { live, screens } = words();
  return (
    <div class="stack">
      <div class="head">
        <h1>{screens.live}</h1>
        <a class="button bare end" href={hashOf(["keys"], { state: "processing" })}>
          {live.atWork}
        </a>
        <button type="button" class="button" aria-pressed={isPaused} onClick={toggle}>
          <Icon name={isPaused ? "play" : "pause"} />
          {isPaused ? live.resume(stream.held.length) : live.pause}
        </button>
      </div>
      <Pills<string>
        label={words().columns.outcome}
        options={kinds.map((each) => [each, live.kinds[each === "" ? "all" : each]] as const)}
        chosen={kind}
        choose={(chosen) => turnTo({ kind: chosen })}
      />
      <Status stream={stream} again={() => setTurn(turn + 1)} />
      <section class="card">
        {rows.length === 0 ? (
          <Empty title={stream.source === undefined ? live.connecting : live.waiting}>
            <p>{live.about}</p>
          </Empty>
        ) : (
          <Table
            caption={screens.live}
            columns={columnsOf()}
            rows={rows}
            keyOf={({ number }) => String(number)}
            open={({ handle }) => {
              if (handle !== undefined) go(["keys", handle]);
            }}
          />
        )}
      </section>
    </div>
  );
}
