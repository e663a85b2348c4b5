import type { JSX } from "preact";
import { hashOf } from "../../../console/src/router.ts";
import { words } from "../i18n/words.ts";

export function Head({ title, lead }: { readonly title: string; readonly lead: string }): JSX.Element {
  return (
    <div class="intro">
      <h1>{title}</h1>
      <p class="muted">{lead}</p>
    </div>
  );
}

/** Below every result. */
export function LimitsLink(): JSX.Element {
  return (
    <p class="small">
      <a href={hashOf(["limits"])}>{words().limitsLink}</a>
    </p>
  );
}
