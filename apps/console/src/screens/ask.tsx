/** One field. Whatever the ticket says leads to a verdict with its evidence. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Icon } from "../parts/icon.tsx";
import { serverNow } from "../parts/moment.tsx";
import { Note, Shown } from "../parts/note.tsx";
import { askedOf, inputOf, type Asked } from "../question.ts";
import { go, type Place } from "../router.ts";
import { setting } from "../settings.ts";
import { Overview } from "./overview.tsx";
import { Verdict } from "./verdict.tsx";

/** As the style sheet has it: the whole example does not fit there. */
const phone = "(max-width: 44rem)";

/** A time narrows an amount down and nothing else: without an amount it is not sent. */
function queryOf({ text, amount, at }: Asked) {
  return amount === undefined ? { text } : { text, amount, at };
}

function Answer({ asked }: { readonly asked: Asked }): JSX.Element {
  const query = queryOf(asked);
  const loaded = useLoad(`ask ${JSON.stringify(query)}`, (signal) => api.ask(query, signal));
  return <Shown loaded={loaded}>{(answer) => <Verdict answer={answer} asked={asked} again={loaded.again} />}</Shown>;
}

export function Ask({ place }: { readonly place: Place }): JSX.Element {
  const { text, amount, at } = place.query;
  const asked: Asked = { ...(text && { text }), ...(amount && { amount }), ...(at && { at }) };
  const isAsked = asked.text !== undefined || asked.amount !== undefined;
  const shown = inputOf(asked);
  const [input, setInput] = useState(shown);
  const field = useRef<HTMLInputElement>(null);
  // Before anything else can be typed: an effect comes a frame later, and would undo it.
  useLayoutEffect(() => setInput(shown), [shown]);
  useEffect(() => {
    if (!isAsked) field.current?.focus();
  }, [isAsked]);
  return (
    <div class="stack">
      <h1 class={isAsked ? "unseen" : undefined}>{words().askTitle}</h1>
      <form
        class="ask"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const question = askedOf(input, serverNow(), setting("zone") === "utc");
          if (question.text !== undefined || question.amount !== undefined) {
            go(["ask"], { ...question });
            field.current?.blur();
          }
        }}
      >
        <input
          ref={field}
          id="ask"
          class="input"
          type="search"
          enterkeyhint="search"
          aria-label={words().askTitle}
          placeholder={matchMedia(phone).matches ? words().askShort : words().askExample}
          value={input}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onInput={(event) => setInput(event.currentTarget.value)}
        />
        <button type="submit" class="button main-action">
          <Icon name="ask" /> {words().askVerb}
        </button>
      </form>
      {asked.at !== undefined && asked.amount === undefined && <Note tone="warn" title={words().timeNeedsAmount} />}
      {isAsked ? <Answer asked={asked} /> : <Overview />}
    </div>
  );
}
