/** A row of numbers with their names, and who counted them. */
import type { ComponentChildren, JSX } from "preact";
import type { Tone } from "./state.tsx";

export interface Figure {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly tone?: Tone;
  readonly under?: ComponentChildren;
}

export function Figures({ figures }: { readonly figures: readonly Figure[] }): JSX.Element {
  return (
    <dl class="figures">
      {figures.map(({ name, value, tone, under }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={tone === undefined ? undefined : `tone-${tone}`}>
            {value}
            {under !== undefined && <div class="under">{under}</div>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
