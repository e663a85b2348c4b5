/** The queue of open outcomes, the oldest first: what needs a person, and what the provider says of each. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ProbesAnswer, RecordView, UnknownAnswer } from "../contract.ts";
import { count } from "../amount.ts";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { LongId } from "../parts/copy.tsx";
import { Moment } from "../parts/moment.tsx";
import { Empty, Shown } from "../parts/note.tsx";
import { callerOf, KeyLink, labelsOf } from "../parts/record-cells.tsx";
import { Badge } from "../parts/state.tsx";
import { Pager, Table, type Column } from "../parts/table.tsx";
import { go, hashOf } from "../router.ts";

const everyMs = 30_000;
/** Providers are asked about those on top by themselves, one after the other: a queue must not become a storm. */
const askedMax = 20;

type Said = ProbesAnswer | "failed" | "asking";

interface Providers {
  readonly said: ReadonlyMap<string, Said>;
  readonly ask: (handle: string) => Promise<void>;
}

function useProviders(records: readonly RecordView[]): Providers {
  const [said, setSaid] = useState<ReadonlyMap<string, Said>>(new Map());
  const known = useRef(said);
  known.current = said;
  const put = (handle: string, answer: Said): void => setSaid((before) => new Map(before).set(handle, answer));
  const ask: Providers["ask"] = async (handle) => {
    put(handle, "asking");
    put(handle, await api.probes(handle).catch((): Said => "failed"));
  };
  const handles = records.slice(0, askedMax).map(({ handle }) => handle);
  useEffect(() => {
    const abort = new AbortController();
    const askAll = async (): Promise<void> => {
      for (const handle of handles) {
        if (abort.signal.aborted) return;
        if (!known.current.has(handle)) await ask(handle);
      }
    };
    void askAll();
    return () => abort.abort();
  }, [handles.join(" ")]);
  return { said, ask };
}

function Says({ said }: { readonly said: ProbesAnswer | "failed" }): JSX.Element {
  if (said === "failed") return <Badge tone="warn">{words().probeDown}</Badge>;
  const found = said.probes.flatMap(({ effects }) => effects);
  if (found.length > 0)
    return (
      <span class="row">
        <Badge tone={found.length > 1 ? "bad" : "warn"}>{words().probeFound(found.length)}</Badge>
        {found.map(({ id }) => (
          <LongId key={id} id={id} />
        ))}
      </span>
    );
  if (said.probes.length === 0) return <span class="muted">{words().probeNone}</span>;
  if (said.probes.some(({ problem }) => problem !== undefined)) return <Badge tone="warn">{words().probeDown}</Badge>;
  return <Badge tone="ok">{words().probeAbsent}</Badge>;
}

/** What it said, when that was, and another look: whoever has the page open for an hour decides by what is so now. */
function Provider({ said, ask }: { readonly said: Said | undefined; readonly ask: () => void }): JSX.Element {
  if (said === "asking") return <span class="muted">{words().asking}</span>;
  return (
    <span class="row">
      {said !== undefined && <Says said={said} />}
      {said !== undefined && said !== "failed" && (
        <span class="muted small nowrap">
          {words().asked} <Moment ms={Date.parse(said.askedAt)} />
        </span>
      )}
      <button type="button" class="button bare" onClick={ask}>
        {said === undefined ? words().askProvider : words().askAgain}
      </button>
    </span>
  );
}

function columnsOf({ said, ask }: Providers): readonly Column<RecordView>[] {
  const { columns } = words();
  return [
    { head: columns.since, cell: ({ createdAt }) => <Moment ms={Date.parse(createdAt)} both />, lead: true },
    { head: columns.operation, cell: ({ operation }) => operation },
    { head: columns.id, cell: ({ handle, id }) => <KeyLink handle={handle} id={id} /> },
    { head: columns.caller, cell: (record) => callerOf(record) },
    { head: columns.labels, cell: ({ labels }) => labelsOf(labels), loose: true },
    {
      head: columns.providerSays,
      cell: ({ handle }) => <Provider said={said.get(handle)} ask={() => void ask(handle)} />,
      loose: true,
    },
    { head: columns.why, cell: ({ holdReason }) => holdReason, loose: true },
  ];
}

function Queue({ records, searched, isCut }: UnknownAnswer): JSX.Element {
  const providers = useProviders(records);
  const isPart = isCut || searched > records.length;
  return (
    <>
      <Table
        caption={words().screens.unknown}
        columns={columnsOf(providers)}
        rows={records}
        keyOf={({ handle }) => handle}
        open={({ handle }) => go(["keys", handle])}
      />
      <Pager shown={records.length} first={undefined} next={undefined}>
        {isPart && (
          <>
            <span>{isCut ? words().oldestOfSearched(count(searched)) : words().oldestOf(count(searched))}</span>
            <a href={hashOf(["keys"], { state: "unknown" })}>{words().allUnknown}</a>
          </>
        )}
      </Pager>
    </>
  );
}

export function Unknown(): JSX.Element {
  const loaded = useLoad("unknown", (signal) => api.unknown(signal), everyMs);
  return (
    <div class="stack">
      <div class="head">
        <h1>{words().screens.unknown}</h1>
        <p class="muted">{words().unknownAbout}</p>
      </div>
      <section class="card">
        <Shown loaded={loaded}>
          {(answer) =>
            answer.records.length === 0 ? (
              <Empty title={words().noUnknown}>
                <p>{words().noUnknownAbout}</p>
              </Empty>
            ) : (
              <Queue {...answer} />
            )
          }
        </Shown>
      </section>
    </div>
  );
}
