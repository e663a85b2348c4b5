/** Who did what, and why: from new to old, never changed. */
import type { JSX } from "preact";
import type { AuditView } from "../contract.ts";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Pills } from "../parts/chips.tsx";
import { Moment } from "../parts/moment.tsx";
import { Empty, Shown } from "../parts/note.tsx";
import { KeyLink } from "../parts/record-cells.tsx";
import { Badge } from "../parts/state.tsx";
import { Pager, Table, type Column } from "../parts/table.tsx";
import { go, hashOf, type Place } from "../router.ts";
import { duration } from "../time.ts";

/** The server has no word for any age: ten years are as long as it looks back. */
const anyAge = "315360000000";
const windows = ["86400000", "604800000", "2592000000", anyAge] as const;
const windowDefault = "604800000";

export function auditColumns(): readonly Column<AuditView>[] {
  const { columns, action } = words();
  return [
    { head: columns.when, cell: ({ at }) => <Moment ms={Date.parse(at)} both /> },
    { head: columns.action, cell: ({ action: word }) => <Badge tone="person">{action(word)}</Badge>, lead: true },
    { head: columns.actor, cell: ({ actor }) => actor },
    { head: columns.id, cell: ({ record }) => record && <KeyLink handle={record.handle} id={record.id} /> },
    { head: columns.reason, cell: ({ reason }) => reason, loose: true },
  ];
}

export function Audit({ place }: { readonly place: Place }): JSX.Element {
  const { cursor, ...kept } = place.query;
  const query = { newerThanMs: windowDefault, ...place.query };
  const loaded = useLoad(`audit ${JSON.stringify(query)}`, (signal) => api.audit(query, signal));
  return (
    <div class="stack">
      <div class="head">
        <h1>{words().screens.audit}</h1>
        <p class="muted">{words().auditAbout}</p>
      </div>
      <Pills<string>
        label={words().age.newerThanMs}
        options={windows.map((ms) => [ms, ms === anyAge ? words().age.any : duration(Number(ms))] as const)}
        chosen={query.newerThanMs}
        choose={(newerThanMs) => go(["audit"], { newerThanMs })}
      />
      <section class="card">
        <Shown loaded={loaded}>
          {({ entries, cursor: next }) =>
            entries.length === 0 && cursor === undefined ? (
              <Empty title={words().noAudit} />
            ) : (
              <>
                <Table
                  caption={words().screens.audit}
                  columns={auditColumns()}
                  rows={entries}
                  keyOf={(entry) => `${entry.at} ${entry.actor} ${entry.action} ${entry.record?.handle ?? ""}`}
                  open={({ record }) => {
                    if (record !== undefined) go(["keys", record.handle]);
                  }}
                />
                <Pager
                  shown={entries.length}
                  first={cursor === undefined ? undefined : hashOf(["audit"], kept)}
                  next={next !== undefined ? hashOf(["audit"], { ...kept, cursor: next }) : undefined}
                />
              </>
            )
          }
        </Shown>
      </section>
    </div>
  );
}
