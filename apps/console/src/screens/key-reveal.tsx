/** The key and the stored answer in clear, after a reason, which the audit keeps. Always text, never markup. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { AnswerView, RecordView, RevealAnswer } from "../contract.ts";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { Copy } from "../parts/copy.tsx";
import { Decision, Sheet } from "../parts/dialog.tsx";

/** JSON is easier to read with its lines; what is none stays as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Stored({ title, answer }: { readonly title: string; readonly answer: AnswerView }): JSX.Element {
  return (
    <section class="stack">
      <h2>
        {title} {answer.status} <Copy text={answer.body} what={title} />
      </h2>
      {answer.headers.length > 0 && (
        <dl class="facts small">
          {answer.headers.map(([name, value], at) => (
            <>
              <dt key={at} class="mono">
                {name}
              </dt>
              <dd class="mono">{value}</dd>
            </>
          ))}
        </dl>
      )}
      <pre class="payload" tabIndex={0}>
        {pretty(answer.body)}
      </pre>
    </section>
  );
}

function Revealed({ revealed, close }: { readonly revealed: RevealAnswer; readonly close: () => void }): JSX.Element {
  const { key, answer, interim, steps, askedBy, holdReason } = revealed;
  const { revealed: names } = words();
  return (
    <Sheet title={names.title} close={close}>
      <dl class="facts">
        <dt>{words().columns.key}</dt>
        <dd class="mono">
          {key} <Copy text={key} what={words().columns.key} />
        </dd>
        {holdReason !== undefined && (
          <>
            <dt>{words().held}</dt>
            <dd>{holdReason}</dd>
          </>
        )}
        {askedBy.length > 0 && (
          <>
            <dt>{names.askedBy}</dt>
            <dd>{askedBy.join(", ")}</dd>
          </>
        )}
      </dl>
      {answer !== undefined && <Stored title={names.answer} answer={answer} />}
      {interim !== undefined && <Stored title={names.interim} answer={interim} />}
      {answer === undefined && interim === undefined && <p class="muted">{names.none}</p>}
      {steps.map(({ name, result }) =>
        result === undefined ? null : (
          <section key={name} class="stack">
            <h2>{name}</h2>
            <pre class="payload" tabIndex={0}>
              {pretty(result)}
            </pre>
          </section>
        ),
      )}
      <div class="actions">
        <button type="button" class="button" onClick={close}>
          {words().close}
        </button>
      </div>
    </Sheet>
  );
}

export function Reveal({
  record,
  close,
  done,
}: {
  readonly record: RecordView;
  readonly close: () => void;
  readonly done: () => void;
}): JSX.Element {
  const [revealed, setRevealed] = useState<RevealAnswer>();
  if (revealed !== undefined) return <Revealed revealed={revealed} close={close} />;
  return (
    <Decision
      title={words().verbs.reveal.title}
      verb={words().verbs.reveal.verb}
      close={close}
      act={async (reason) => {
        setRevealed(await api.reveal(record.handle, { reason, fence: record.fence }));
        done();
      }}
    >
      <p>{words().verbs.reveal.consequence}</p>
    </Decision>
  );
}
