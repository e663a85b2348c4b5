/** Replay or discard: the selection is frozen, the server says first what would become of each, then a reason is asked for. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DecideLettersAnswer, LetterView } from "../contract.ts";
import { api, type Side } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { announce } from "../parts/copy.tsx";
import { Decision, Sheet } from "../parts/dialog.tsx";
import { Note, Shown } from "../parts/note.tsx";
import { Badge } from "../parts/state.tsx";

export type LetterDecision = "replay" | "discard";

interface DecideLettersProps {
  readonly side: Side;
  readonly decision: LetterDecision;
  readonly letters: readonly LetterView[];
  readonly close: () => void;
  readonly done: () => void;
}

function Results({
  results,
  letters,
}: {
  results: DecideLettersAnswer["results"];
  letters: readonly LetterView[];
}): JSX.Element {
  const idOf = new Map(letters.map(({ letter, id }) => [letter, id]));
  return (
    <ul class="payload">
      {results.map(({ letter, result, topic, message }) => (
        <li key={letter} class="row">
          <Badge tone={result === "ok" ? "ok" : "warn"}>{words().letterResult[result]}</Badge>
          <span class="mono break">{idOf.get(letter) ?? letter}</span>
          <span class="muted">{topic}</span>
          {message !== undefined && <span class="break">{message}</span>}
        </li>
      ))}
    </ul>
  );
}

export function DecideLetters({ side, decision, letters, close, done }: DecideLettersProps): JSX.Element {
  const [to, setTo] = useState("");
  const [refused, setRefused] = useState<DecideLettersAnswer>();
  // As they were seen when the dialog was opened, whatever the list does behind it.
  const [frozen] = useState(() => letters.map(({ letter, seen }) => ({ letter, seen })));
  const handlers = to.split(/[\s,]+/).filter((each) => each !== "");
  const request = (reason: string, preview: boolean) => ({
    reason,
    letters: frozen,
    count: frozen.length,
    preview,
    ...(handlers.length === 0 ? {} : { to: handlers }),
  });
  const preview = useLoad(`preview ${decision} ${handlers.join(" ")}`, () =>
    api.decide(side, decision, request("preview", true)),
  );
  const { title, verb, consequence } = words().letterVerbs[decision];
  const needsHandler =
    side === "inbox" &&
    decision === "replay" &&
    (handlers.length > 0 || preview.value?.results.some(({ result }) => result === "needs-handler") === true);
  if (refused !== undefined)
    return (
      <Sheet title={title(frozen.length)} close={done}>
        <Note tone="warn" icon="warning" title={words().someRefused(frozen.length - refused.done)} isAlert />
        <Results results={refused.results} letters={letters} />
        <div class="actions">
          <button type="button" class="button" onClick={done}>
            {words().close}
          </button>
        </div>
      </Sheet>
    );
  return (
    <Decision
      title={title(frozen.length)}
      verb={verb(frozen.length)}
      isDangerous={decision === "discard"}
      isIncomplete={preview.value === undefined}
      close={close}
      act={async (reason) => {
        const answer = await api.decide(side, decision, request(reason, false));
        announce(words().decided(answer.done));
        if (answer.done < frozen.length) setRefused(answer);
        else done();
      }}
    >
      <p>{consequence}</p>
      <h2>{words().preview}</h2>
      <Shown loaded={preview}>{({ results }) => <Results results={results} letters={letters} />}</Shown>
      {needsHandler && (
        <label class="field">
          <span>{words().replayTo}</span>
          <input class="input" name="to" value={to} onInput={(event) => setTo(event.currentTarget.value)} />
        </label>
      )}
    </Decision>
  );
}
