/** A run in swim lanes, from the event log: what no event says is not drawn. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { HappeningList, Lanes, type Happening } from "../../../console/src/parts/timeline.tsx";
import type { ShapeName } from "../../../console/src/parts/icon.tsx";
import type { Tone } from "../../../console/src/parts/state.tsx";
import {
  lanes,
  type LaneName,
  type LoggedEvent,
  type RunView,
  type Witness,
} from "../../../shop/src/playground/contract.ts";
import { words } from "../i18n/words.ts";
import { EventRaw } from "./event-raw.tsx";
import { Legend, type Mark } from "./legend.tsx";

const looks: Readonly<Record<string, readonly [Tone, ShapeName]>> = {
  click: ["person", "person"],
  reload: ["person", "back"],
  tab: ["person", "person"],
  paid: ["ok", "full"],
  "not-paid": ["warn", "half"],
  cut: ["bad", "cross"],
  lost: ["bad", "cross"],
  kill: ["bad", "triangle"],
  exit: ["bad", "cross"],
  "kill-connections": ["bad", "triangle"],
  start: ["ok", "full"],
  charge: ["run", "ring"],
  charged: ["warn", "diamond"],
  "asked-bank": ["run", "half"],
  takeover: ["run", "back"],
  complete: ["ok", "full"],
  "row-settled": ["ok", "half"],
};

const unnamed = ["quiet", "square"] as const;

/** Of the marks that are drawn: what each means, and one word for all that have none of their own. */
function marksOf(events: readonly LoggedEvent[]): readonly Mark[] {
  const names: Readonly<Record<string, string>> = words().what;
  const known = events
    .filter(isDrawn)
    .toSorted((one, other) => Object.keys(looks).indexOf(one.what) - Object.keys(looks).indexOf(other.what))
    .flatMap(({ what }) => {
      const [tone, shape] = looks[what] ?? [];
      return tone === undefined || shape === undefined ? [] : [{ tone, shape, name: names[what] ?? what }];
    });
  return [...known, { tone: unnamed[0], shape: unnamed[1], name: words().faults.otherMarks }];
}

function isDrawn({ lane, what }: LoggedEvent): boolean {
  return lane !== undefined && what !== "armed";
}

const order: readonly Witness[] = ["buyer", "proxy", "api", "database", "bank", "supervisor"];

function textOf({ what, detail, status, signal, errno, tookMs, pid }: LoggedEvent): string {
  const names: Readonly<Record<string, string>> = words().what;
  const facts = [status, detail, signal, errno, tookMs === undefined ? undefined : `${tookMs} ms`];
  const known = facts.filter((fact) => fact !== undefined && fact !== "");
  return [names[what] ?? what, ...known, ...(pid === 0 ? [] : [`· pid ${pid}`])].join(" ");
}

function happeningsOf(
  events: readonly LoggedEvent[],
  lane: LaneName,
  open: (event: LoggedEvent) => void,
): readonly Happening[] {
  return events
    .filter((event) => event.lane === lane && isDrawn(event))
    .toSorted((one, other) => order.indexOf(one.who) - order.indexOf(other.who))
    .map((event) => {
      const [tone, shape] = looks[event.what] ?? unnamed;
      const { atMs, who } = event;
      return { lane: words().who[who], atMs, tone, shape, text: textOf(event), open: () => open(event) };
    });
}

export function RunTimeline({ view }: { readonly view: RunView }): JSX.Element {
  const [opened, open] = useState<LoggedEvent>();
  return (
    <section class="card" aria-label={words().faults.timeline}>
      <header>
        <h2>{words().faults.timeline}</h2>
        <span class="muted small">{words().faults.timelineLead}</span>
        <a class="end small" href="/playground/api/events.jsonl" download="events.jsonl">
          {words().faults.raw}
        </a>
      </header>
      <Legend marks={marksOf(view.events)} />
      {lanes.map((lane) => {
        const happenings = happeningsOf(view.events, lane, open);
        return happenings.length === 0 ? null : (
          <div key={lane} class="lane-story">
            <h3>{words().lanes[lane]}</h3>
            <Lanes happenings={happenings} what={words().lanes[lane]} />
            {opened?.lane === lane && (
              <EventRaw
                event={opened}
                title={`${words().who[opened.who]} ${textOf(opened)}`}
                events={view.events}
                close={() => open(undefined)}
              />
            )}
            <details>
              <summary>{words().faults.inWords(happenings.length)}</summary>
              <HappeningList happenings={happenings} />
            </details>
          </div>
        );
      })}
    </section>
  );
}
