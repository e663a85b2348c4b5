/** A ticket about something that really happened, to be answered with the real console. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Note } from "../../../console/src/parts/note.tsx";
import { duration } from "../../../console/src/time.ts";
import type { IncidentName, Ticket } from "../../../shop/src/playground/drill.ts";
import { ask } from "../api.ts";
import { words } from "../i18n/words.ts";
import { AskLine, askOf } from "../parts/ask-line.tsx";
import { useDoing } from "../parts/doing.ts";
import { Head, LimitsLink } from "../parts/head.tsx";
import { Steps } from "../parts/steps.tsx";
import type { ScreenProps } from "../screen-props.ts";

interface Judged {
  readonly isRight: boolean;
  readonly truth: IncidentName;
  readonly tookMs: number;
}

const incidents: readonly IncidentName[] = ["two-keys", "crash-after-charge", "bought-twice"];

export function Drill({ state, again }: ScreenProps): JSX.Element {
  const [ticket, setTicket] = useState<Ticket>();
  const [judged, setJudged] = useState<Judged>();
  const { isBusy, problem, run: work } = useDoing();
  const open = (): void =>
    work(async () => {
      setTicket(undefined);
      setJudged(undefined);
      const incident = incidents[Math.floor(Math.random() * incidents.length)];
      setTicket(await ask<Ticket>("drills", { incident }));
      await again();
    });
  return (
    <>
      <Steps at="drill" />
      <Head title={words().drill.title} lead={words().drill.lead} />
      <div class="row">
        <button type="button" class="button main-action" disabled={isBusy} data-ticket onClick={open}>
          {isBusy ? words().working : words().drill.open}
        </button>
        <span class="muted small" role="status">
          {isBusy ? words().drill.making : ""}
        </span>
      </div>
      {problem !== undefined && <Note tone="bad" icon="warning" title={problem} isAlert />}
      {ticket !== undefined && (
        <section class="card">
          <header>
            <h2>{words().drill.ticket(ticket.customer)}</h2>
          </header>
          <div class="inside stack">
            <p>
              {words().drill.charges(ticket.charges)} <span class="small muted">{words().countedBy.bank}</span>
            </p>
            <AskLine line={askOf(state, "bank")} />
            <p class="row">
              <a class="button main-action" href={ticket.consoleUrl} target="_blank" rel="noopener" data-console>
                {words().drill.console}
              </a>
              <span class="small muted">{words().drill.consoleNote}</span>
            </p>
            <h3>{words().drill.answer}</h3>
            <div class="row">
              {incidents.map((incident) => (
                <button
                  key={incident}
                  type="button"
                  class="button"
                  data-answer={incident}
                  disabled={judged !== undefined}
                  onClick={() =>
                    work(async () => setJudged(await ask<Judged>(`drills/${ticket.ticket}/answer`, { incident })))
                  }
                >
                  {words().drill.incidents[incident]}
                </button>
              ))}
            </div>
            {judged !== undefined && (
              <div data-judged={judged.isRight}>
                <Note
                  tone={judged.isRight ? "ok" : "warn"}
                  icon={judged.isRight ? "done" : "info"}
                  title={
                    judged.isRight
                      ? words().drill.right(duration(judged.tookMs))
                      : words().drill.wrong(words().drill.incidents[judged.truth])
                  }
                />
              </div>
            )}
          </div>
        </section>
      )}
      <LimitsLink />
    </>
  );
}
