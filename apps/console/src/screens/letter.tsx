/** One dead letter: what it is, why it was given up, what became of it elsewhere, who decided. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { LetterAnswer, LetterView, RevealLetterAnswer } from "../contract.ts";
import { bytes } from "../amount.ts";
import { api, type Side } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Copy } from "../parts/copy.tsx";
import { ActionButton, Decision } from "../parts/dialog.tsx";
import { Moment } from "../parts/moment.tsx";
import { Note, Shown } from "../parts/note.tsx";
import { Badge } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { go, hashOf } from "../router.ts";
import { useHindrance } from "../session.ts";
import { auditColumns } from "./audit.tsx";
import { pretty } from "./key-reveal.tsx";
import { DecideLetters, type LetterDecision } from "./letters-decide.tsx";

function Payload({ side, letter }: { readonly side: Side; readonly letter: LetterView }): JSX.Element {
  const [isAsking, setIsAsking] = useState(false);
  const [revealed, setRevealed] = useState<RevealLetterAnswer>();
  const hindrance = useHindrance("reveal");
  return (
    <section class="card">
      <header>
        <h2>{words().payload}</h2>
        <span class="muted">
          {bytes(letter.payloadBytes)} {letter.contentType}
        </span>
      </header>
      <div class="inside stack">
        {revealed === undefined ? (
          <div class="row">
            <span class="muted">{words().payloadHidden}</span>
            <ActionButton hindrance={hindrance} onClick={() => setIsAsking(true)}>
              {words().verbs.reveal.button}
            </ActionButton>
          </div>
        ) : (
          <>
            <pre class="payload" tabIndex={0}>
              {pretty(revealed.payload)}
            </pre>
            {Object.keys(revealed.headers).length > 0 && (
              <pre class="payload" tabIndex={0}>
                {Object.entries(revealed.headers)
                  .map(([name, value]) => `${name}: ${value}`)
                  .join("\n")}
              </pre>
            )}
            {revealed.error !== undefined && (
              <pre class="payload" tabIndex={0}>
                {revealed.error}
              </pre>
            )}
          </>
        )}
      </div>
      {isAsking && (
        <Decision
          title={words().revealPayload}
          verb={words().verbs.reveal.verb}
          close={() => setIsAsking(false)}
          act={async (reason) => {
            setRevealed(await api.revealLetter(side, letter.letter, { reason, seen: letter.seen }));
            setIsAsking(false);
          }}
        >
          <p>{words().revealPayloadAbout}</p>
        </Decision>
      )}
    </section>
  );
}

function LetterFacts({ letter }: { readonly letter: LetterView }): JSX.Element {
  const { columns, letterFacts } = words();
  const facts = [
    [columns.topic, letter.topic],
    [columns.handler, letter.handler],
    [columns.key, letter.key],
    [letterFacts.source, letter.source],
    [letterFacts.correlation, letter.correlationId],
    [letterFacts.causation, letter.causationId],
    [columns.attempts, letter.attempts],
    [columns.error, letter.error],
  ] as const;
  return (
    <dl class="facts inside">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ),
      )}
      <dt>{letterFacts.made}</dt>
      <dd>
        <Moment ms={Date.parse(letter.time)} both />
      </dd>
      <dt>{letterFacts.givenUp}</dt>
      <dd>
        <Moment ms={Date.parse(letter.since)} both />
      </dd>
    </dl>
  );
}

function Waiting({ side, letter, again }: { side: Side; letter: LetterView; again: () => void }): JSX.Element {
  const [decision, setDecision] = useState<LetterDecision>();
  const hindrance = useHindrance("events");
  const { letterVerbs } = words();
  return (
    <>
      <div class="row">
        <ActionButton hindrance={hindrance} isMain onClick={() => setDecision("replay")}>
          {letterVerbs.replay.verb(1)}
        </ActionButton>
        <ActionButton hindrance={hindrance} isDangerous onClick={() => setDecision("discard")}>
          {letterVerbs.discard.verb(1)}
        </ActionButton>
        <a class="button" href={hashOf(["ask"], { text: letter.id })}>
          {words().askAboutEvent}
        </a>
      </div>
      <section class="card">
        <header>
          <h2>{words().letter}</h2>
          <Badge tone={letter.state === "replaying" ? "run" : "warn"}>
            {letter.state === "replaying" ? words().replaying : words().deadReason(letter.reason)}
          </Badge>
        </header>
        <LetterFacts letter={letter} />
      </section>
      <Payload side={side} letter={letter} />
      {decision !== undefined && (
        <DecideLetters
          side={side}
          decision={decision}
          letters={[letter]}
          close={() => setDecision(undefined)}
          done={() => {
            setDecision(undefined);
            again();
          }}
        />
      )}
    </>
  );
}

function Elsewhere({ handlers, audit }: Pick<LetterAnswer, "handlers" | "audit">): JSX.Element {
  const { columns } = words();
  return (
    <>
      {handlers.length > 0 && (
        <section class="card">
          <header>
            <h2>{words().handlersOfEvent}</h2>
          </header>
          <Table
            caption={words().handlersOfEvent}
            rows={handlers}
            keyOf={({ handler }) => handler}
            columns={[
              { head: columns.handler, cell: ({ handler }) => handler, lead: true },
              { head: columns.outcome, cell: ({ outcome }) => words().letterOutcome[outcome] },
              { head: columns.when, cell: ({ at }) => <Moment ms={Date.parse(at)} both /> },
            ]}
          />
        </section>
      )}
      {audit.length > 0 && (
        <section class="card">
          <header>
            <h2>{words().screens.audit}</h2>
          </header>
          <Table
            caption={words().screens.audit}
            columns={auditColumns()}
            rows={audit}
            keyOf={({ at, action }) => `${at} ${action}`}
          />
        </section>
      )}
    </>
  );
}

export function Letter({ side, name }: { readonly side: Side; readonly name: string }): JSX.Element {
  const loaded = useLoad(`letter ${side} ${name}`, (signal) => api.letter(side, name, signal));
  return (
    <div class="stack">
      <div class="head">
        <h1>
          {words().letter} {loaded.value?.letter !== undefined && <span class="mono">{loaded.value.letter.id}</span>}
          {loaded.value?.letter !== undefined && <Copy text={loaded.value.letter.id} what={words().columns.event} />}
        </h1>
        <button type="button" class="button bare end" onClick={() => go([side])}>
          {words().backTo(words().screens[side])}
        </button>
      </div>
      <Shown loaded={loaded}>
        {({ letter, audit, handlers }) => (
          <>
            {letter === undefined ? (
              <Note tone="ok" icon="done" title={words().letterGone} />
            ) : (
              <Waiting side={side} letter={letter} again={loaded.again} />
            )}
            <Elsewhere handlers={handlers} audit={audit} />
          </>
        )}
      </Shown>
    </div>
  );
}
