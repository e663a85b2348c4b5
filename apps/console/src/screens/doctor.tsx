/** What is wrong with the set-up, and what to do about it. */
import type { JSX } from "preact";
import type { DoctorAnswer } from "../contract.ts";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Moment } from "../parts/moment.tsx";
import { Empty, Shown } from "../parts/note.tsx";
import { Badge } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { duration } from "../time.ts";

function Findings({ findings }: Pick<DoctorAnswer, "findings">): JSX.Element {
  const { doctor } = words();
  if (findings.length === 0)
    return (
      <Empty title={doctor.well}>
        <p>{doctor.wellAbout}</p>
      </Empty>
    );
  const sorted = findings.toSorted((one, other) => one.severity.localeCompare(other.severity));
  return (
    <ul>
      {sorted.map(({ code, severity, what, remedy }, at) => (
        <li key={at} class="finding">
          <div class="row">
            <Badge tone={severity === "error" ? "bad" : "warn"}>{doctor.severity[severity]}</Badge>
            <code>{code}</code>
          </div>
          <p>{what}</p>
          <p>
            <strong>{doctor.remedy}</strong> {remedy}
            <Copy text={remedy} what={doctor.remedy} />
          </p>
        </li>
      ))}
    </ul>
  );
}

function Engines({ engines }: Pick<DoctorAnswer, "engines">): JSX.Element | null {
  const { doctor, columns } = words();
  if (engines.length === 0) return null;
  return (
    <section class="card">
      <header>
        <h2>{doctor.engines(engines.length)}</h2>
      </header>
      <Table
        caption={doctor.engines(engines.length)}
        rows={engines}
        keyOf={({ process }) => process}
        columns={[
          { head: columns.process, cell: ({ process }) => <span class="mono">{process}</span>, lead: true },
          { head: columns.release, cell: ({ release }) => release },
          { head: columns.runtime, cell: ({ runtime }) => runtime },
          { head: columns.age, cell: ({ ageMs }) => duration(ageMs), align: "right" },
          { head: columns.operations, cell: ({ operations }) => operations.join(", "), loose: true },
        ]}
      />
    </section>
  );
}

export function Doctor(): JSX.Element {
  const loaded = useLoad("doctor", (signal) => api.doctor(signal));
  return (
    <div class="stack">
      <div class="head">
        <h1>{words().screens.doctor}</h1>
        {loaded.value !== undefined && (
          <span class="muted">
            {loaded.value.server} {words().asked} <Moment ms={Date.parse(loaded.value.askedAt)} />
          </span>
        )}
        <button type="button" class="button bare end" onClick={loaded.again} disabled={loaded.isLoading}>
          <Icon name="reload" /> {loaded.isLoading ? words().asking : words().askAgain}
        </button>
      </div>
      <Shown loaded={loaded}>
        {({ findings, engines }) => (
          <>
            <section class="card">
              <Findings findings={findings} />
            </section>
            <Engines engines={engines} />
          </>
        )}
      </Shown>
    </div>
  );
}
