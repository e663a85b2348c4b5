/** What a storm came to, lane beside lane: a row for each number, with who counted it. */
import type { ComponentChildren, JSX } from "preact";
import { bytes } from "../../../console/src/amount.ts";
import { duration } from "../../../console/src/time.ts";
import { lanes, type LaneName } from "../../../shop/src/playground/contract.ts";
import type { LaneStorm, StormView } from "../../../shop/src/playground/storm-view.ts";
import { words } from "../i18n/words.ts";

interface BadProps extends Pick<LaneStorm, "zeroBoundPercent"> {
  readonly count: number;
  readonly "data-more"?: LaneName;
}

interface Row {
  readonly name: string;
  readonly by: string;
  /** Blank until it was measured. */
  readonly cell: (counts: LaneStorm, lane: LaneName) => ComponentChildren;
}

/** Of what should not be: none of so many is no proof that it cannot, and is told as the bound that they allow. */
function Bad({ count, zeroBoundPercent, ...rest }: BadProps): JSX.Element {
  const isNone = count === 0;
  return (
    <strong class={isNone ? "tone-ok" : "tone-bad"} {...rest}>
      {isNone ? <Whole parts={zeroBoundPercent === undefined ? [] : words().storm.bound(zeroBoundPercent)} /> : count}
    </strong>
  );
}

/** Breaks between the parts, and not inside of them. */
function Whole({ parts }: { readonly parts: readonly string[] }): JSX.Element {
  return (
    <>
      {parts.map((part, at) => (
        <>
          {at > 0 && " "}
          <span class="whole">{part}</span>
        </>
      ))}
    </>
  );
}

function boundOf({ zeroBoundPercent }: Pick<LaneStorm, "zeroBoundPercent">): Pick<LaneStorm, "zeroBoundPercent"> {
  return zeroBoundPercent === undefined ? {} : { zeroBoundPercent };
}

function rowsOf(): readonly Row[] {
  const { rows } = words().storm;
  const { bank, proxy, supervisor, buyers, database, lane } = words().countedBy;
  const times = ({ p50Ms, p95Ms = 0, p99Ms = 0 }: LaneStorm): ComponentChildren =>
    p50Ms !== undefined && <Whole parts={[`${duration(p50Ms)} /`, `${duration(p95Ms)} /`, duration(p99Ms)]} />;
  return [
    { name: rows.bought, by: buyers, cell: ({ bought }) => bought },
    { name: rows.once, by: bank, cell: ({ chargedOnce }) => chargedOnce },
    {
      name: rows.more,
      by: bank,
      cell: ({ chargedMore, ...counts }, name) => <Bad {...boundOf(counts)} count={chargedMore} data-more={name} />,
    },
    {
      name: rows.never,
      by: bank,
      cell: ({ chargedNever, ...counts }) => <Bad {...boundOf(counts)} count={chargedNever} />,
    },
    { name: rows.untold, by: buyers, cell: ({ untold, ...counts }) => <Bad {...boundOf(counts)} count={untold} /> },
    { name: rows.arrivals, by: proxy, cell: ({ arrivals }) => arrivals },
    { name: rows.restarts, by: supervisor, cell: ({ restarts }) => restarts },
    { name: rows.drops, by: supervisor, cell: ({ databaseDrops }) => databaseDrops ?? "–" },
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
