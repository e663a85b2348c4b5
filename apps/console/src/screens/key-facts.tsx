/** What a record is, what it made and what it is related to. */
import type { ComponentChildren, JSX } from "preact";
import type { KeyAnswer, TwinView } from "../contract.ts";
import { bytes } from "../amount.ts";
import { words } from "../i18n/words.ts";
import { Copy } from "../parts/copy.tsx";
import { Moment } from "../parts/moment.tsx";
import { callerOf, KeyLink, labelsOf, leaseOf } from "../parts/record-cells.tsx";
import { Table, type Column } from "../parts/table.tsx";
import { go, hashOf } from "../router.ts";
import { duration } from "../time.ts";

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element | null {
  if (children === undefined || children === "" || children === null) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Identity({ answer: { record, caller, fingerprint } }: { readonly answer: KeyAnswer }): JSX.Element {
  const { facts, columns } = words();
  return (
    <section class="card">
      <header>
        <h2>{facts.identity}</h2>
      </header>
      <dl class="facts inside">
        <Fact name={columns.operation}>{record.operation}</Fact>
        <Fact name={columns.caller}>{caller === "" ? callerOf(record) : caller}</Fact>
        <Fact name={columns.labels}>{labelsOf(record.labels)}</Fact>
        <Fact name={facts.fingerprint}>
          <span class="mono">
            {fingerprint.canonical.slice(0, 16)}… v{fingerprint.version}
          </span>
        </Fact>
        <Fact name={facts.fence}>
          <span class="mono">{record.fence}</span>
        </Fact>
        <Fact name={columns.runs}>{record.attempts}</Fact>
        <Fact name={facts.lease}>{leaseOf(record)}</Fact>
        <Fact name={facts.changed}>
          <Moment ms={Date.parse(record.updatedAt)} both />
        </Fact>
        <Fact name={facts.expires}>
          <Moment ms={Date.parse(record.expiresAt)} both />
        </Fact>
      </dl>
    </section>
  );
}

function Made({ answer: { answer, resources, record, events } }: { readonly answer: KeyAnswer }): JSX.Element {
  const { facts } = words();
  return (
    <section class="card">
      <header>
        <h2>{facts.answer}</h2>
      </header>
      <dl class="facts inside">
        {answer === undefined ? (
          <Fact name={facts.stored}>{facts.none}</Fact>
        ) : (
          <>
            <Fact name={facts.status}>{answer.status}</Fact>
            <Fact name={facts.stored}>
              {answer.kind === "full" ? `${bytes(answer.bytes)} ${answer.contentType ?? ""}` : facts.tombstone}
            </Fact>
          </>
        )}
        <Fact name={facts.interim}>{record.interimStatus}</Fact>
        {resources.map(({ kind, id }) => (
          <Fact key={`${kind} ${id}`} name={kind}>
            <span class="mono">{id}</span>
            <Copy text={id} what={id} />
          </Fact>
        ))}
        {events.map(({ id, handlers }) => (
          <Fact key={id} name={facts.event}>
            <a class="mono" href={hashOf(["ask"], { text: id })}>
              {id}
            </a>{" "}
            {handlers.map(({ handler, outcome }) => `${handler}: ${words().letterOutcome[outcome]}`).join(", ")}
          </Fact>
        ))}
      </dl>
    </section>
  );
}

export function Facts({ answer }: { readonly answer: KeyAnswer }): JSX.Element {
  return (
    <div class="two">
      <Identity answer={answer} />
      <Made answer={answer} />
    </div>
  );
}

function twinColumns(): readonly Column<TwinView>[] {
  const { columns, twinFirst, twinSecond } = words();
  return [
    { head: columns.id, cell: ({ other }) => <KeyLink handle={other.handle} id={other.id} />, lead: true },
    { head: columns.key, cell: ({ other }) => <span class="mono muted">{other.key}</span> },
    { head: columns.apart, cell: ({ apartMs }) => duration(apartMs), align: "right" },
    { head: columns.order, cell: ({ isFirst }) => (isFirst ? twinFirst : twinSecond) },
    { head: columns.when, cell: ({ at }) => <Moment ms={Date.parse(at)} both /> },
  ];
}

/** Another key of the same caller with the same content: the client may have made a second key. */
export function Related({ answer: { twins } }: { readonly answer: KeyAnswer }): JSX.Element | null {
  if (twins.length === 0) return null;
  return (
    <section class="card">
      <header>
        <h2>{words().twins}</h2>
      </header>
      <Table
        caption={words().twins}
        columns={twinColumns()}
        rows={twins}
        keyOf={({ other }) => other.handle}
        open={({ other }) => go(["keys", other.handle])}
      />
    </section>
  );
}
