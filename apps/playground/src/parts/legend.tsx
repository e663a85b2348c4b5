/** What the marks of a drawing mean: of those that are in it, and no others. */
import type { JSX } from "preact";
import { Shape } from "../../../console/src/parts/icon.tsx";
import type { Happening } from "../../../console/src/parts/timeline.tsx";
import { words } from "../i18n/words.ts";

export interface Mark extends Pick<Happening, "tone" | "shape"> {
  readonly name: string;
}

export function Legend({ marks }: { readonly marks: readonly Mark[] }): JSX.Element {
  const byLook = Map.groupBy(marks, ({ tone, shape }) => `${tone} ${shape}`);
  const looks = [...byLook.values()].map((alike) => ({ ...alike[0], names: new Set(alike.map(({ name }) => name)) }));
  return (
    <ul class="legend small" aria-label={words().faults.legend}>
      {looks.map(({ tone = "quiet", shape = "square", names }) => (
        <li key={`${tone} ${shape}`}>
          <span class={`tone-${tone}`}>
            <Shape name={shape} />
          </span>
          {[...names].join(", ")}
        </li>
      ))}
    </ul>
  );
}
