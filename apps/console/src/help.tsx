/** What the keyboard does. */
import type { JSX } from "preact";
import { words } from "./i18n/words.ts";
import { Sheet } from "./parts/dialog.tsx";

function Combination({ text }: { readonly text: string }): JSX.Element {
  return (
    <span class="nowrap">
      {text.split(" ").map((key, at) => (
        <>
          {at > 0 && " "}
          <kbd class="kbd">{key}</kbd>
        </>
      ))}
    </span>
  );
}

export function Keyboard({ close }: { readonly close: () => void }): JSX.Element {
  const { keyboard } = words();
  return (
    <Sheet title={keyboard.title} close={close}>
      <dl class="keyboard">
        {keyboard.list.map(([keys, what]) => (
          <>
            <dt>
              <Combination text={keys} />
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <div class="actions">
        <button type="button" class="button" onClick={close}>
          {words().close}
        </button>
      </div>
    </Sheet>
  );
}
