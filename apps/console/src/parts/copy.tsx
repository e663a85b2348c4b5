/** Copying, and the word that it was done. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { words } from "../i18n/words.ts";
import { Icon } from "./icon.tsx";

let say: (text: string) => void = () => undefined;

/** A short word at the edge of the page, which screen readers say too. */
export function announce(text: string): void {
  say(text);
}

const shownMs = 2_500;

export function Announcer(): JSX.Element {
  const [text, setText] = useState("");
  useEffect(() => {
    say = setText;
    return () => void (say = () => undefined);
  }, []);
  useEffect(() => {
    if (text === "") return undefined;
    const timer = setTimeout(() => setText(""), shownMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div role="status" aria-live="polite">
      {text !== "" && <p class="toast">{text}</p>}
    </div>
  );
}

/** Outside of secure contexts there is no clipboard: the text is chosen and copied as by hand. */
function copyByHand(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export async function copyText(text: string): Promise<void> {
  try {
    if (navigator.clipboard === undefined) copyByHand(text);
    else await navigator.clipboard.writeText(text);
    announce(words().copied);
  } catch {
    copyByHand(text);
    announce(words().copied);
  }
}

export function Copy({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  return (
    <button
      type="button"
      class="copy"
      aria-label={words().copyOf(what)}
      title={words().copyOf(what)}
      onClick={(event) => {
        event.stopPropagation();
        void copyText(text);
      }}
    >
      <Icon name="copy" />
    </button>
  );
}

const shownWhole = 18;

/** Its ends, where it is long. */
export function shortened(id: string): string {
  return id.length <= shownWhole ? id : `${id.slice(0, 11)}…${id.slice(-5)}`;
}

/** An id of others may be long: its ends are shown, all of it is copied. */
export function LongId({ id }: { readonly id: string }): JSX.Element {
  return (
    <span class="mono nowrap" title={id}>
      {shortened(id)}
      <Copy text={id} what={id} />
    </span>
  );
}

export function download(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
