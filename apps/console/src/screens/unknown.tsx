/** The queue of open outcomes, the oldest first: what needs a person, and what the provider says of each. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
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
/** Providers are asked about those on top, one after the other: a queue must not become a storm. */
const askedMax = 20;

type Said = ProbesAnswer | "failed";

function useProbes(records: readonly RecordView[]): ReadonlyMap<string, Said> {
  const [said, setSaid] = useState<ReadonlyMap<string, Said>>(new Map());
  const handles = records.slice(0, askedMax).map(({ handle }) => handle);
  useEffect(() => {
    const abort = new AbortController();
    const ask = async (): Promise<void> => {
      for (const handle of handles) {
        if (abort.signal.aborted) return;
        const answer = await api.probes(handle, abort.signal).catch((): Said => "failed");
        setSaid((before) => new Map(before).set(handle, answer));
      }
    };
    void ask();
    return () => abort.abort();
  }, [handles.join(" ")]);
  return said;
}

function Says({ said }: { readonly said: Said | undefined }): JSX.Element {
  if (said === undefined) return <span class="muted">…</span>;
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

function columnsOf(said: ReadonlyMap<string, Said>): readonly Column<RecordView>[] {
  const { columns } = words();
  return [
    { head: columns.since, cell: ({ createdAt }) => <Moment ms={Date.parse(createdAt)} both />, lead: true },
    { head: columns.operation, cell: ({ operation }) => operation },
    { head: columns.id, cell: ({ handle, id }) => <KeyLink handle={handle} id={id} /> },
    { head: columns.caller, cell: (record) => callerOf(record) },
    { head: columns.labels, cell: ({ labels }) => labelsOf(labels), loose: true },
    { head: columns.providerSays, cell: ({ handle }) => <Says said={said.get(handle)} />, loose: true },
    { head: columns.why, cell: ({ holdReason }) => holdReason, loose: true },
  ];
}

function Queue({ records, searched, isCut }: UnknownAnswer): JSX.Element {
  const said = useProbes(records);
  const isPart = isCut || searched > records.length;
  return (
    <>
      <Table
        caption={words().screens.unknown}
        columns={columnsOf(said)}
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
