/** One record: what it is, what happened, what the provider says now, and what can be decided about it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { KeyAnswer, RecordView } from "../contract.ts";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Copy, copyText } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Moment } from "../parts/moment.tsx";
import { Note, Shown } from "../parts/note.tsx";
import { leaseOf } from "../parts/record-cells.tsx";
import { State } from "../parts/state.tsx";
import { HappeningList, Lanes } from "../parts/timeline.tsx";
import { Decide } from "./key-decide.tsx";
import { Facts, Related } from "./key-facts.tsx";
import { Provider } from "./key-provider.tsx";
import { keyHappenings } from "./key-timeline.ts";

function Head({
  record,
  link,
  again,
}: {
  record: RecordView;
  link: string | undefined;
  again: () => void;
}): JSX.Element {
  return (
    <div class="key-head">
      <h1>
        <State state={record.state} status={record.state === "completed" ? record.status : undefined} />
        <span>{record.operation}</span>
        <span class="mono">{record.id}</span>
        <Copy text={record.id} what={record.id} />
      </h1>
      <div class="row muted small">
        <span>
          {words().columns.key} <span class="mono">{record.key}</span>
        </span>
        <span>
          {words().columns.firstSeen} <Moment ms={Date.parse(record.createdAt)} both />
        </span>
        {record.lease !== undefined && <span>{leaseOf(record)}</span>}
        <button type="button" class="button bare" onClick={() => void copyText(link ?? location.href)}>
          <Icon name="link" /> {words().copyLink}
        </button>
        <button type="button" class="button bare" onClick={again}>
          <Icon name="reload" /> {words().refresh}
        </button>
      </div>
      {record.holdReason !== undefined && (
        <Note tone="warn" icon="warning" title={words().held}>
          <p class="break">{record.holdReason}</p>
        </Note>
      )}
    </div>
  );
}

function Happened({ answer, probes }: { answer: KeyAnswer; probes: Parameters<typeof keyHappenings>[1] }): JSX.Element {
  const happenings = keyHappenings(answer, probes);
  return (
    <section class="card">
      <header>
        <h2>{words().whatHappened}</h2>
      </header>
      {happenings.length > 0 && <Lanes happenings={happenings} what={words().whatHappened} />}
      <HappeningList happenings={happenings} />
      {answer.attempts.length === 0 && <p class="inside muted">{words().noAttempts}</p>}
    </section>
  );
}

export function Key({ handle }: { readonly handle: string }): JSX.Element {
  const loaded = useLoad(`key ${handle}`, (signal) => api.key(handle, signal));
  const probed = useLoad(`probes ${handle}`, (signal) => api.probes(handle, signal));
  /** Somebody else decided while this page was open. */
  const [changed, setChanged] = useState<RecordView>();
  const again = (): void => {
    loaded.again();
    probed.again();
  };
  return (
    <div class="stack">
      {changed !== undefined && (
        <Note tone="warn" icon="warning" title={words().changedTitle} isAlert>
          <p>
            {words().changedNow} <State state={changed.state} status={changed.status} />
          </p>
        </Note>
      )}
      <Shown loaded={loaded}>
        {(answer) => (
          <>
            <Head record={answer.record} link={answer.link} again={again} />
            <Provider probed={probed} />
            <Decide
              answer={answer}
              probes={probed.value}
              done={(now) => {
                setChanged(now);
                again();
              }}
            />
            <Happened answer={answer} probes={probed.value} />
            <Facts answer={answer} />
            <Related answer={answer} />
          </>
        )}
      </Shown>
    </div>
  );
}
