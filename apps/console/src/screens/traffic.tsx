/** New, replayed, refused, unknown: by the minute, by whoever counted. And keys that may stand for one intent. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { TrafficAnswer, TrafficMinute } from "../contract.ts";
import { count } from "../amount.ts";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Figures } from "../parts/figures.tsx";
import { Moment } from "../parts/moment.tsx";
import { Empty, Shown } from "../parts/note.tsx";
import { Plot, type Series } from "../parts/plot.tsx";
import { KeyLink } from "../parts/record-cells.tsx";
import { Table, type Column } from "../parts/table.tsx";
import { go } from "../router.ts";
import { useSettings } from "../settings.ts";
import { duration } from "../time.ts";

const everyMs = 15_000;
const inks: readonly (readonly [keyof Omit<TrafficMinute, "at">, Series["ink"]])[] = [
  ["executed", 0],
  ["replayed", 1],
  ["refused", 5],
  ["unknown", 2],
  ["failed", 3],
];

type Counted = TrafficAnswer["series"][number];

function Counter({ series }: { readonly series: Counted }): JSX.Element {
  const { traffic, countedBy } = words();
  const { lang } = useSettings();
  const { counted, minutes } = series;
  const plotted = useMemo(
    () => ({
      timesMs: minutes.map(({ at }) => Date.parse(at)),
      series: inks.map(([name, ink]): Series => ({
        name: traffic[name],
        ink,
        values: minutes.map((each) => each[name]),
      })),
    }),
    [minutes, lang],
  );
  const sum = (name: keyof Omit<TrafficMinute, "at">): number => minutes.reduce((total, each) => total + each[name], 0);
  return (
    <section class="card">
      <header>
        <h2>{countedBy[counted.by]}</h2>
        <span class="muted small">
          {traffic.since} <Moment ms={Date.parse(counted.since)} both />
        </span>
        {counted.process !== undefined && <span class="muted small mono">{counted.process}</span>}
      </header>
      <div class="inside">
        <Figures
          figures={inks.map(([name]) => ({
            name: traffic[name],
            value: count(sum(name)),
            ...((name === "unknown" || name === "failed") && sum(name) > 0 && { tone: "warn" as const }),
          }))}
        />
      </div>
      {minutes.length > 1 ? (
        <Plot label={traffic.perMinute} {...plotted} format={count} />
      ) : (
        <p class="inside muted">{traffic.soon}</p>
      )}
    </section>
  );
}

type Pair = TrafficAnswer["suspectedDuplicates"]["pairs"][number];

function pairColumns(): readonly Column<Pair>[] {
  const { columns } = words();
  return [
    { head: columns.when, cell: ({ at }) => <Moment ms={Date.parse(at)} both />, lead: true },
    { head: columns.operation, cell: ({ operation }) => operation },
    { head: columns.first, cell: ({ first }) => <KeyLink handle={first.handle} id={first.id} /> },
    { head: columns.second, cell: ({ second }) => <KeyLink handle={second.handle} id={second.id} /> },
    { head: columns.apart, cell: ({ apartMs }) => duration(apartMs), align: "right" },
  ];
}

function Suspects({ pairs }: { readonly pairs: readonly Pair[] }): JSX.Element {
  const { suspects, noSuspects, suspectsAbout } = words();
  return (
    <section class="card">
      <header>
        <h2>{suspects}</h2>
        <span class="muted small">{suspectsAbout}</span>
      </header>
      {pairs.length === 0 ? (
        <Empty title={noSuspects} />
      ) : (
        <Table
          caption={suspects}
          columns={pairColumns()}
          rows={pairs}
          keyOf={({ first, second }) => `${first.handle} ${second.handle}`}
          open={({ second }) => go(["keys", second.handle])}
        />
      )}
    </section>
  );
}

export function Traffic(): JSX.Element {
  const loaded = useLoad("traffic", (signal) => api.traffic(signal), everyMs);
  return (
    <div class="stack">
      <h1>{words().screens.traffic}</h1>
      <Shown loaded={loaded}>
        {({ series, suspectedDuplicates }) => (
          <>
            {series
              .toSorted((one, other) => one.counted.by.localeCompare(other.counted.by))
              .map((each) => (
                <Counter key={each.counted.by} series={each} />
              ))}
            <Suspects pairs={suspectedDuplicates.pairs} />
          </>
        )}
      </Shown>
    </div>
  );
}
