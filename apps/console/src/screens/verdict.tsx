/** The answer to a ticket: one sentence, who counted, what happened, what to do next. */
import type { JSX } from "preact";
import type { AskAnswer, AskedKeyView } from "../contract.ts";
import { words } from "../i18n/words.ts";
import { verdictsIn } from "../intents.ts";
import { copyText, download, LongId } from "../parts/copy.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Moment } from "../parts/moment.tsx";
import { Note } from "../parts/note.tsx";
import { KeyLink, labelsOf } from "../parts/record-cells.tsx";
import { Badge, State, type Tone } from "../parts/state.tsx";
import { Table, type Column } from "../parts/table.tsx";
import { HappeningList, Lanes } from "../parts/timeline.tsx";
import type { Asked } from "../question.ts";
import { go, hashOf } from "../router.ts";
import { setting } from "../settings.ts";
import { useSharedHash } from "../share.ts";
import { happeningsOf } from "./verdict-timeline.ts";

const looks: Readonly<Record<AskAnswer["severity"], readonly [Tone, IconName]>> = {
  ok: ["ok", "done"],
  warning: ["warn", "warning"],
  page: ["bad", "page"],
};

function understoodText(answer: AskAnswer, { amount, at, text }: Asked): string {
  const parts = answer.understood.map((each) => {
    const [, kind = each, name = ""] = /^(label|resource) (.+)$/.exec(each) ?? [];
    return words().understoodAs(kind, name);
  });
  const asked = [text, amount, at].filter((part) => part !== undefined).join(" ");
  return parts.length === 0 ? asked : `${asked} = ${parts.join(" · ")}`;
}

function Next({ answer }: { readonly answer: AskAnswer }): JSX.Element | null {
  const steps = verdictsIn(answer).flatMap((kind) => words().nextSteps(answer, kind));
  return steps.length === 0 ? null : (
    <div class="next">
      <h2>{words().next}</h2>
      <ol>
        {steps.map((step) => (
          <li key={step} class="break">
            {step}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Head({ answer, asked, again }: { answer: AskAnswer; asked: Asked; again: () => void }): JSX.Element {
  const [tone, icon] = looks[answer.severity];
  const title = words().verdicts[answer.verdict];
  // The server writes English; other languages have the sentence from the same facts.
  const says = setting("lang") === "en" ? answer.says : words().says(answer);
  return (
    <section class={`verdict tone-${tone}`} aria-live="polite">
      <h1>
        <Icon name={icon} />
        {title}
      </h1>
      <p class="says">{`${says.charAt(0).toUpperCase()}${says.slice(1)}`}</p>
      <Next answer={answer} />
      <div class="row small">
        <Badge tone={answer.confidence === "high" ? "ok" : "warn"}>{words().confidence[answer.confidence]}</Badge>
        <span class="muted break">{understoodText(answer, asked)}</span>
        <span class="muted">
          {words().asked} <Moment ms={Date.parse(answer.askedAt)} />
        </span>
        <button type="button" class="button bare" onClick={again}>
          <Icon name="reload" /> {words().askAgain}
        </button>
      </div>
      <div class="row">
        <button type="button" class="button" onClick={() => void copyText(answer.markdown)}>
          <Icon name="copy" /> {words().copyForTicket}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => download("ichido-case.md", "text/markdown", answer.markdown)}
        >
          {words().exportMarkdown}
        </button>
        {answer.keys.slice(0, 2).map(({ name, handle, state }) => (
          <a class={`button${state === "unknown" ? " main-action" : ""}`} key={name} href={hashOf(["keys", handle])}>
            {state === "unknown" ? words().settleKey(name) : words().openKey(name)}
          </a>
        ))}
        {answer.verdict === "event-dead" && (
          <a class="button main-action" href={hashOf(["inbox"])}>
            {words().screens.inbox}
          </a>
        )}
      </div>
    </section>
  );
}

/** What the provider has, what the record made, what it is labelled with: each once. */
function Evidence({ of: { providerIds, resources, labels } }: { readonly of: AskedKeyView }): JSX.Element {
  const made = resources.filter((resource) => !providerIds.some((id) => resource.endsWith(`:${id}`)));
  return (
    <div class="evidence">
      {[...providerIds, ...made].map((id) => (
        <LongId key={id} id={id} />
      ))}
      <span class="muted">{labelsOf(labels)}</span>
    </div>
  );
}

function keyColumns(): readonly Column<AskedKeyView>[] {
  const { columns } = words();
  return [
    { head: columns.name, cell: ({ name }) => <strong>{words().keyName(name)}</strong>, lead: true },
    { head: columns.id, cell: ({ handle, id }) => <KeyLink handle={handle} id={id} /> },
    { head: columns.state, cell: ({ state, status }) => <State state={state} status={status} /> },
    { head: columns.operation, cell: ({ operation }) => operation },
    { head: columns.runsAndReplays, cell: ({ runs, replays }) => `${runs} / ${replays}` },
    {
      head: columns.effects,
      cell: ({ effects }) =>
        effects.by === "nobody" ? words().effectsBy.nobody : `${effects.count} · ${words().effectsBy[effects.by]}`,
    },
    { head: columns.evidence, cell: (key) => <Evidence of={key} />, loose: true },
    { head: columns.firstSeen, cell: ({ createdAt }) => <Moment ms={Date.parse(createdAt)} /> },
  ];
}

export function Verdict({ answer, asked, again }: { answer: AskAnswer; asked: Asked; again: () => void }): JSX.Element {
  const happenings = happeningsOf(answer);
  // Who pasted a key does not hand it on with the link.
  const [first] = answer.keys;
  const isByKey = answer.understood.includes("key") && first !== undefined;
  useSharedHash(isByKey ? hashOf(["keys", first.handle]) : undefined);
  return (
    <>
      <Head answer={answer} asked={asked} again={again} />
      {answer.missing.length > 0 && (
        <Note tone="warn" icon="warning" title={words().missing}>
          {answer.missing.map((each) => (
            <p key={each} class="break">
              {each}
            </p>
          ))}
        </Note>
      )}
      {answer.keys.length > 0 && (
        <section class="card">
          <header>
            <h2>{words().keysOfCase(answer.keys.length)}</h2>
          </header>
          <Table
            caption={words().keysOfCase(answer.keys.length)}
            columns={keyColumns()}
            rows={answer.keys}
            keyOf={({ handle }) => handle}
            open={({ handle }) => go(["keys", handle])}
          />
        </section>
      )}
      {happenings.length > 0 && (
        <section class="card">
          <header>
            <h2>{words().whatHappened}</h2>
          </header>
          <Lanes happenings={happenings} what={words().whatHappened} />
          <HappeningList happenings={happenings} />
        </section>
      )}
    </>
  );
}
