/** The same protection for the reader's own stack. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { words } from "../i18n/words.ts";
import { CodeBlock } from "../parts/ask-line.tsx";
import { Head } from "../parts/head.tsx";
import {
  checkOf,
  exportOf,
  frameworks,
  installOf,
  isForProtection,
  migrateOf,
  serverOf,
  stores,
  testText,
  transactionsOf,
  type Choice,
} from "../snippets.ts";

interface PickProps {
  readonly name: string;
  readonly options: readonly string[];
  readonly value: string;
  readonly set: (value: string) => void;
}

function Pick({ name, options, value, set }: PickProps): JSX.Element {
  return (
    <label class="field">
      <span>{name}</span>
      <select class="input" value={value} onChange={({ currentTarget }) => set(currentTarget.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}

function Piece({ title, children }: { readonly title: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <section class="stack">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function TakeHome(): JSX.Element {
  const [choice, set] = useState<Choice>({ framework: "Express", store: "PostgreSQL", transactions: "none" });
  const libraries: readonly string[] = transactionsOf[choice.store];
  const pick = (change: Partial<Record<keyof Choice, string>>): void => {
    const next = { ...choice, ...change } as Choice;
    const known: readonly string[] = transactionsOf[next.store];
    set(known.includes(next.transactions) ? next : { ...next, transactions: "none" });
  };
  const migrate = migrateOf(choice);
  const { home } = words();
  return (
    <>
      <Head title={home.title} lead={home.lead} />
      <div class="fields">
        <Pick
          name={home.framework}
          options={frameworks}
          value={choice.framework}
          set={(framework) => pick({ framework })}
        />
        <Pick name={home.store} options={stores} value={choice.store} set={(store) => pick({ store })} />
        <Pick
          name={home.transaction}
          options={libraries}
          value={choice.transactions}
          set={(transactions) => pick({ transactions })}
        />
      </div>
      <Piece title={home.install}>
        <CodeBlock name={home.install} text={installOf(choice)} />
      </Piece>
      <Piece title={home.server}>
        <p class="muted">{home.serverLead}</p>
        <CodeBlock name={home.server} text={serverOf(choice)} isMarked={isForProtection} />
      </Piece>
      {migrate !== "" && (
        <Piece title={home.migrate}>
          <p class="muted">{home.migrateLead}</p>
          <CodeBlock name={home.migrate} text={`${migrate}\n${exportOf(choice)}`} />
        </Piece>
      )}
      <Piece title={home.check}>
        <CodeBlock name={home.check} text={checkOf(choice)} />
      </Piece>
      <Piece title={home.test}>
        <p class="muted">{home.testLead}</p>
        <CodeBlock name={home.test} text={testText} />
      </Piece>
    </>
  );
}
