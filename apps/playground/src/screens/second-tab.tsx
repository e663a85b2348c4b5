/** The second tab of "Two tabs": it waits for the word of the first, and pays. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { browserStorage } from "ichido/client";
import { click } from "../checkout.ts";
import { words } from "../i18n/words.ts";
import { beSecondTab } from "../second-tab.ts";

export function SecondTab({ run }: { readonly run: string }): JSX.Element {
  useEffect(() => beSecondTab(run, (lane, cart) => click(lane, cart, browserStorage())), [run]);
  return (
    <main class="main">
      <h1>{words().faults.names["two-tabs"][0]}</h1>
      <p class="muted">{words().faults.names["two-tabs"][1]}</p>
    </main>
  );
}
