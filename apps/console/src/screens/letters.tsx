/** Dead letters of either side: chosen by hand, previewed, then decided about together. What they carry stays hidden. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { LetterView } from "../contract.ts";
import { api, type Side } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Chips } from "../parts/chips.tsx";
import { shortened } from "../parts/copy.tsx";
import { ActionButton } from "../parts/dialog.tsx";
import { Moment } from "../parts/moment.tsx";
import { Empty, Shown } from "../parts/note.tsx";
import { Badge } from "../parts/state.tsx";
import { Pager, Table, type Column } from "../parts/table.tsx";
import { chosenOn, go, hashOf, type Place, type Query } from "../router.ts";
import { useHindrance } from "../session.ts";
import { DecideLetters, type LetterDecision } from "./letters-decide.tsx";

interface Choice {
  readonly chosen: ReadonlySet<string>;
  readonly toggle: (letter: string) => void;
}

export function letterColumns(side: Side): readonly Column<LetterView>[] {
  const { columns } = words();
  return [
    {
      head: columns.event,
      cell: ({ letter, id }) => (
        <a class="whole mono nowrap" href={hashOf([side, letter])} title={id}>
          {shortened(id)}
        </a>
      ),
    },
    { head: columns.topic, cell: ({ topic }) => topic },
    ...(side === "inbox" ? [{ head: columns.handler, cell: ({ handler }: LetterView) => handler }] : []),
    {
      head: columns.reason,
      cell: ({ state, reason }) => (
        <Badge tone={state === "replaying" ? "run" : "warn"}>
          {state === "replaying" ? words().replaying : words().deadReason(reason)}
        </Badge>
      ),
    },
    { head: columns.attempts, cell: ({ attempts }) => attempts, align: "right" },
    { head: columns.since, cell: ({ since }) => <Moment ms={Date.parse(since)} /> },
    { head: columns.error, cell: ({ error }) => error, loose: true },
  ];
}

function columnsWith(side: Side, { chosen, toggle }: Choice): readonly Column<LetterView>[] {
  const { columns } = words();
  const check: Column<LetterView> = {
    head: columns.chosen,
    cell: ({ letter, id }) => (
      <input
        type="checkbox"
        aria-label={words().chooseLetter(id)}
        checked={chosen.has(letter)}
        onChange={() => toggle(letter)}
      />
    ),
    lead: true,
  };
  return [check, ...letterColumns(side)];
}

interface BulkProps {
  readonly side: Side;
  readonly letters: readonly LetterView[];
  readonly chosen: ReadonlySet<string>;
  readonly choose: (letters: ReadonlySet<string>) => void;
  readonly again: () => void;
}

function Bulk({ side, letters, chosen, choose, again }: BulkProps): JSX.Element {
  const [decision, setDecision] = useState<LetterDecision>();
  const permission = useHindrance("events");
  const picked = letters.filter(({ letter }) => chosen.has(letter));
  const hindrance = permission ?? (picked.length === 0 ? words().chooseFirst : undefined);
  return (
    <div class="row inside">
      <button
        type="button"
        class="button bare"
        onClick={() => choose(new Set(picked.length === letters.length ? [] : letters.map(({ letter }) => letter)))}
      >
        {picked.length === letters.length ? words().chooseNone : words().chooseAll(letters.length)}
      </button>
      <ActionButton hindrance={hindrance} onClick={() => setDecision("replay")}>
        {words().replayMany(picked.length)}
      </ActionButton>
      <ActionButton hindrance={hindrance} isDangerous onClick={() => setDecision("discard")}>
        {words().discardMany(picked.length)}
      </ActionButton>
      {decision !== undefined && (
        <DecideLetters
          side={side}
          decision={decision}
          letters={picked}
          close={() => setDecision(undefined)}
          done={() => {
            setDecision(undefined);
            choose(new Set());
            again();
          }}
        />
      )}
    </div>
  );
}

const filterNamesOf = (side: Side): readonly ("topic" | "handler")[] =>
  side === "inbox" ? ["handler", "topic"] : ["topic"];

export function Letters({ side, place, turn }: { side: Side; place: Place; turn: number }): JSX.Element {
  const names = filterNamesOf(side);
  // What is no filter goes along: the server refuses it, and nobody decides about letters that were not asked for.
  const { cursor, ...filters } = place.query;
  const loaded = useLoad(`${side} ${JSON.stringify(place.query)} ${turn}`, (signal) =>
    api.letters(side, place.query, signal),
  );
  const choose = (more: Query): void => go([side], { ...chosenOn(side), cursor: undefined, ...more });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setChosen(new Set()), [side, JSON.stringify(place.query)]);
  const toggle = (letter: string): void =>
    setChosen((before) =>
      before.has(letter) ? new Set([...before].filter((each) => each !== letter)) : new Set(before).add(letter),
    );
  const { letterFilters } = words();
  const labels: Readonly<Record<string, { readonly label: string }>> = letterFilters;
  const chips = Object.entries(filters).map(([name, value]) => ({ name, label: labels[name]?.label ?? name, value }));
  return (
    <section class="card">
      <header>
        <h2>{words().deadLetters}</h2>
        <Chips
          chips={chips}
          names={Object.fromEntries(names.map((name) => [name, letterFilters[name]]))}
          add={(name, value) => choose({ [name]: value })}
          remove={(name) => choose({ [name]: undefined })}
        />
      </header>
      <Shown loaded={loaded}>
        {({ letters, cursor: next }) =>
          letters.length === 0 ? (
            <Empty title={words().noLetters}>
              <p>{words().noLettersAbout}</p>
            </Empty>
          ) : (
            <>
              <Bulk side={side} letters={letters} chosen={chosen} choose={setChosen} again={loaded.again} />
              <Table
                caption={words().deadLetters}
                columns={columnsWith(side, { chosen, toggle })}
                rows={letters}
                keyOf={({ letter }) => letter}
                open={({ letter }) => go([side, letter])}
              />
              <Pager
                shown={letters.length}
                first={cursor === undefined ? undefined : hashOf([side], filters)}
                next={next === undefined ? undefined : hashOf([side], { ...filters, cursor: next })}
              />
            </>
          )
        }
      </Shown>
    </section>
  );
}
