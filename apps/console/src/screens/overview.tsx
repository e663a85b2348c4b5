/** Below the empty field: what can be asked, and how things stand. Every number says who counted it. */
import type { JSX } from "preact";
import type { TrafficAnswer } from "../contract.ts";
import { api } from "../api.ts";
import { count } from "../amount.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Figures } from "../parts/figures.tsx";
import { Shown } from "../parts/note.tsx";
import { hashOf } from "../router.ts";
import { useSession } from "../session.ts";

const everyMs = 30_000;
const windowMs = 3_600_000;

/** The attempt log knows all processes; without it, this process has counted its own. */
export function bestSeries({ series }: TrafficAnswer): TrafficAnswer["series"][number] | undefined {
  return series.find(({ counted }) => counted.by === "log") ?? series[0];
}

function Numbers({ traffic }: { readonly traffic: TrafficAnswer }): JSX.Element {
  const best = bestSeries(traffic);
  const sinceMs = Date.now() - windowMs;
  const recent = (best?.minutes ?? []).filter(({ at }) => Date.parse(at) >= sinceMs);
  const sum = (of: (minute: (typeof recent)[number]) => number): string =>
    count(recent.reduce((total, minute) => total + of(minute), 0));
  const { unknown = 0 } = useSession();
  const { overview, traffic: names } = words();
  const by = best === undefined ? "" : words().countedBy[best.counted.by];
  const counts = [
    [names.executed, sum(({ executed }) => executed)],
    [names.replayed, sum(({ replayed }) => replayed)],
    [names.refused, sum(({ refused }) => refused)],
    [names.failed, sum(({ failed }) => failed)],
  ] as const;
  const open = (
    <a class={unknown > 0 ? "tone-warn" : "tone-ok"} href={hashOf(["unknown"])}>
      {count(unknown)}
    </a>
  );
  return (
    <Figures
      figures={[
        { name: overview.unknownNow, value: open, under: words().countedBy.store },
        ...counts.map(([name, value]) => ({ name: overview.lastHour(name), value, under: by })),
        {
          name: overview.suspects,
          value: <a href={hashOf(["traffic"])}>{count(traffic.suspectedDuplicates.pairs.length)}</a>,
          under: words().countedBy[traffic.suspectedDuplicates.counted.by],
        },
      ]}
    />
  );
}

export function Overview(): JSX.Element {
  const loaded = useLoad("traffic", (signal) => api.traffic(signal), everyMs);
  const { overview } = words();
  return (
    <>
      <p class="muted">{overview.paste}</p>
      <Shown loaded={loaded}>{(traffic) => <Numbers traffic={traffic} />}</Shown>
      <section class="card">
        <header>
          <h2>{overview.examples}</h2>
        </header>
        <dl class="facts inside">
          {overview.exampleList.map(([example, what]) => (
            <>
              <dt class="mono">{example}</dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
      </section>
    </>
  );
}
