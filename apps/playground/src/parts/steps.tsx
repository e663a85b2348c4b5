/** The first five minutes: four screens, one after the other, and which of them this is. */
import type { JSX } from "preact";
import { hashOf } from "../../../console/src/router.ts";
import { words } from "../i18n/words.ts";

const steps = [
  ["pay", {}],
  ["faults", { fault: "kill-after-charge" }],
  ["limits", {}],
  ["drill", {}],
] as const;

export type StepName = (typeof steps)[number][0];

export function Steps({ at }: { readonly at: StepName }): JSX.Element {
  return (
    <nav class="steps small" aria-label={words().steps}>
      <ol>
        {steps.map(([name, query], index) => (
          <li key={name}>
            <a href={hashOf([name], query)} aria-current={name === at ? "step" : undefined}>
              <span class="muted">{words().stepOf(index + 1, steps.length)}</span> {words().stepNames[name]}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
