/** A line that asks the one who counted, by hand. */
import type { JSX } from "preact";
import { announce } from "../../../console/src/parts/copy.tsx";
import { Icon } from "../../../console/src/parts/icon.tsx";
import type { StateView } from "../../../shop/src/playground/contract.ts";
import { words } from "../i18n/words.ts";

async function copy(text: string): Promise<void> {
  await navigator.clipboard?.writeText(text);
  announce(words().copied);
}

/** Of a process, as it is asked by hand. */
export function askOf(state: StateView | undefined, name: string): string {
  return state?.processes.find((each) => each.name === name)?.ask ?? "";
}

/** Of the playground's server: what proxy, supervisor and lanes have noted. */
export function askOwn(path: string): string {
  return `curl -s ${location.origin}/playground/api/${path}`;
}

export function AskLine({ line }: { readonly line: string }): JSX.Element {
  return (
    <details class="ask-line">
      <summary>{words().fetchIt}</summary>
      <code class="break">{line}</code>
      <button type="button" class="copy" aria-label={words().copyOf(line.slice(0, 30))} onClick={() => void copy(line)}>
        <Icon name="copy" />
      </button>
    </details>
  );
}

interface CodeBlockProps {
  readonly text: string;
  readonly name: string;
  readonly isMarked?: (line: string) => boolean;
}

export function CodeBlock({ text, name, isMarked }: CodeBlockProps): JSX.Element {
  return (
    <div class="code">
      <button type="button" class="copy" aria-label={words().copyOf(name)} onClick={() => void copy(text)}>
        <Icon name="copy" />
      </button>
      <pre tabIndex={0} aria-label={name}>
        {isMarked === undefined ? (
          <code>{text}</code>
        ) : (
          text
            .trimEnd()
            .split("\n")
            .map((line, at) => (
              <code key={at} class={`line${isMarked(line) ? " only" : ""}`}>
                {line}
                {"\n"}
              </code>
            ))
        )}
      </pre>
    </div>
  );
}
