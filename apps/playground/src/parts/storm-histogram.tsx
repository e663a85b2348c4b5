/** How long buyers waited, lane beside lane. */
import type { JSX } from "preact";
import { duration } from "../../../console/src/time.ts";
import { lanes } from "../../../shop/src/playground/contract.ts";
import type { StormView } from "../../../shop/src/playground/storm-view.ts";
import { words } from "../i18n/words.ts";

/** Of the cell; the rest is for the number. */
const LONGEST_PERCENT = 80;

export function StormHistogram({ view }: { readonly view: StormView }): JSX.Element {
  const most = Math.max(1, ...view.histogram.flatMap(({ counts }) => Object.values(counts)));
  const rows = view.histogram.filter(({ counts }) => Object.values(counts).some((count) => count > 0));
  return (
    <table class="histogram">
      <caption class="unseen">{words().storm.histogram}</caption>
      <thead>
        <tr>
          <th scope="col">
            {words().storm.histogram}
            <br />
            <span class="muted">{words().countedBy.buyers}</span>
          </th>
          {lanes.map((lane) => (
            <th scope="col" key={lane}>
              {words().lanes[lane]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ untilMs, counts }) => (
          <tr key={untilMs}>
            <th scope="row">{words().storm.upTo(duration(untilMs))}</th>
            {lanes.map((lane) => (
              <td key={lane}>
                <span
                  class={`bar-of ${lane}`}
                  style={{ width: `${(LONGEST_PERCENT * (counts[lane] ?? 0)) / most}%` }}
                />
                {counts[lane] ?? ""}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
