/** What a storm came to, lane beside lane: a row for each number, with who counted it. */
import type { ComponentChildren, JSX } from "preact";
import { bytes } from "../../../console/src/amount.ts";
import { duration } from "../../../console/src/time.ts";
import { lanes, type LaneName } from "../../../shop/src/playground/contract.ts";
import type { LaneStorm, StormView } from "../../../shop/src/playground/storm-view.ts";
import { words } from "../i18n/words.ts";

interface Row {
  readonly name: string;
  readonly by: string;
  /** Blank until it was measured. */
  readonly cell: (counts: LaneStorm, lane: LaneName) => ComponentChildren;
}

function More({ counts, lane }: { readonly counts: LaneStorm; readonly lane: LaneName }): JSX.Element {
  const { chargedMore, moreBoundPercent, bought } = counts;
  return (
    <strong class={chargedMore > 0 ? "tone-bad" : "tone-ok"} data-more={lane}>
      {bought === 0 ? "" : moreBoundPercent === undefined ? chargedMore : words().storm.bound(moreBoundPercent)}
    </strong>
  );
}

function rowsOf(): readonly Row[] {
  const { rows } = words().storm;
  const { bank, proxy, supervisor, buyers, database, lane } = words().countedBy;
  const times = ({ p50Ms, p95Ms, p99Ms }: LaneStorm): string =>
    p50Ms === undefined ? "" : [p50Ms, p95Ms ?? 0, p99Ms ?? 0].map((ms) => duration(ms)).join(" / ");
  return [
    { name: rows.bought, by: buyers, cell: ({ bought }) => bought },
    { name: rows.once, by: bank, cell: ({ chargedOnce }) => chargedOnce },
    { name: rows.more, by: bank, cell: (counts, lane) => <More counts={counts} lane={lane} /> },
    { name: rows.never, by: bank, cell: ({ chargedNever }) => chargedNever },
    { name: rows.untold, by: buyers, cell: ({ untold }) => untold },
    { name: rows.arrivals, by: proxy, cell: ({ arrivals }) => arrivals },
    { name: rows.restarts, by: supervisor, cell: ({ restarts }) => restarts },
    { name: rows.drops, by: supervisor, cell: ({ databaseDrops }) => databaseDrops },
    {
      name: rows.resolved,
      by: lane,
      cell: ({ leftOpen, resolved }, name) => (name === "unprotected" ? "–" : words().storm.of(resolved, leftOpen)),
    },
    { name: rows.latency, by: buyers, cell: times },
    {
      name: rows.bytes,
      by: database,
      cell: ({ bytesPerPayment: size }) => (size === undefined ? "" : bytes(size)),
    },
  ];
}

export function StormCounts({ view }: { readonly view: StormView }): JSX.Element {
  return (
    <table class="beside">
      <caption class="unseen">{words().storm.title}</caption>
      <thead>
        <tr>
          <td />
          {lanes.map((lane) => (
            <th scope="col" key={lane}>
              {words().lanes[lane]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rowsOf().map(({ name, by, cell }) => (
          <tr key={name}>
            <th scope="row">
              {name} <span class="muted">{by}</span>
            </th>
            {lanes.map((lane) => {
              const counts = view.lanes[lane];
              return <td key={lane}>{counts === undefined ? "" : cell(counts, lane)}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
