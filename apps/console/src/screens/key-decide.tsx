/** Adopt, release, hold, forget: each with its consequence in words. The fence of what was seen goes with it. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { KeyAnswer, ProbesAnswer, RecordView, SettleKeyRequest, WrittenAnswer } from "../contract.ts";
import { ApiError, api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { announce } from "../parts/copy.tsx";
import { ActionButton, Decision } from "../parts/dialog.tsx";
import { Note } from "../parts/note.tsx";
import { useHindrance } from "../session.ts";
import { Reveal } from "./key-reveal.tsx";

type Verb = WrittenAnswer["done"] | "reveal";

export interface DecideProps {
  readonly answer: KeyAnswer;
  readonly probes: ProbesAnswer | undefined;
  /** With the record as it is now, where somebody else was first. */
  readonly done: (changed: RecordView | undefined) => void;
}

interface VerbProps extends DecideProps {
  readonly close: () => void;
  /** Runs a write; a record that changed meanwhile is shown instead of what was seen. */
  readonly write: (send: () => Promise<unknown>) => Promise<void>;
}

/** The provider did it: there is nothing to release. */
function foundText(probes: ProbesAnswer | undefined): string | undefined {
  const found = probes?.probes.flatMap(({ effects }) => effects.map(({ id }) => id)) ?? [];
  return found.length === 0 ? undefined : words().releaseProvider.found(found.join(", "));
}

/** A provider's own word is the only one that counts; without it a person must have looked. */
function isProvenAbsent(probes: ProbesAnswer | undefined): boolean {
  return probes !== undefined && probes.effects.by === "provider" && probes.effects.count === 0;
}

function Release({ answer: { record }, probes, close, write }: VerbProps): JSX.Element {
  const [isChecked, setIsChecked] = useState(false);
  const isProven = isProvenAbsent(probes);
  const found = foundText(probes);
  const { absent, unasked } = words().releaseProvider;
  const send = (reason: string): Promise<unknown> =>
    api.settle(record.handle, {
      decision: "release",
      reason,
      fence: record.fence,
      updatedAt: record.updatedAt,
      ...(isProven ? {} : { checkedProvider: isChecked }),
    });
  return (
    <Decision
      title={words().verbs.release.title}
      verb={words().verbs.release.verb}
      isDangerous
      typed={record.id.slice(-4)}
      isIncomplete={found !== undefined || (!isProven && !isChecked)}
      close={close}
      act={(reason) => write(() => send(reason))}
    >
      <Note tone={isProven ? "warn" : "bad"} icon="warning" title={words().verbs.release.consequence}>
        <p>{found ?? (isProven ? absent : unasked)}</p>
      </Note>
      {!isProven && found === undefined && (
        <label class="row">
          <input
            type="checkbox"
            name="checked"
            checked={isChecked}
            onChange={(event) => setIsChecked(event.currentTarget.checked)}
          />
          <span class="grow">{words().checkedProvider}</span>
        </label>
      )}
    </Decision>
  );
}

/** What was found at the provider, as a first draft of the answer: the handler's own answer may look otherwise. */
function draftOf(probes: ProbesAnswer | undefined): string {
  const found = probes?.probes.flatMap(({ effects }) => effects) ?? [];
  const [only] = found;
  return found.length === 1 && only !== undefined
    ? JSON.stringify({ id: only.id, amount: only.amount, currency: only.currency })
    : "";
}

function Adopt({ answer: { record }, probes, close, write }: VerbProps): JSX.Element {
  const [status, setStatus] = useState("201");
  const [body, setBody] = useState(() => draftOf(probes));
  const number = Number(status);
  const isStatus = Number.isInteger(number) && number >= 200 && number <= 599;
  const request = (reason: string): SettleKeyRequest => ({
    decision: "adopt",
    reason,
    fence: record.fence,
    updatedAt: record.updatedAt,
    answer: { status: number, ...(body === "" ? {} : { body }) },
  });
  return (
    <Decision
      title={words().verbs.adopt.title}
      verb={words().verbs.adopt.verb}
      isIncomplete={!isStatus}
      close={close}
      act={(reason) => write(() => api.settle(record.handle, request(reason)))}
    >
      <p>{words().verbs.adopt.consequence}</p>
      <label class="field">
        <span>{words().adoptStatus}</span>
        <input
          class="input"
          name="status"
          inputMode="numeric"
          value={status}
          aria-invalid={!isStatus}
          onInput={(event) => setStatus(event.currentTarget.value.trim())}
        />
      </label>
      <label class="field">
        <span>{words().adoptBody}</span>
        <textarea
          class="input mono"
          name="body"
          value={body}
          spellcheck={false}
          onInput={(event) => setBody(event.currentTarget.value)}
        />
        <span class="muted small">{words().adoptBodyHint}</span>
      </label>
    </Decision>
  );
}

function Plain({
  verb,
  props,
  send,
}: {
  verb: "hold" | "forget";
  props: VerbProps;
  send: (reason: string) => Promise<unknown>;
}): JSX.Element {
  const { title, verb: name, consequence } = words().verbs[verb];
  return (
    <Decision
      title={title}
      verb={name}
      isDangerous={verb === "forget"}
      typed={verb === "forget" ? props.answer.record.id.slice(-4) : undefined}
      close={props.close}
      act={(reason) => props.write(() => send(reason))}
    >
      <p>{consequence}</p>
    </Decision>
  );
}

function OpenVerb({ verb, ...props }: VerbProps & { readonly verb: Verb }): JSX.Element {
  const { handle, fence, updatedAt } = props.answer.record;
  switch (verb) {
    case "adopt":
      return <Adopt {...props} />;
    case "release":
      return <Release {...props} />;
    case "hold":
      return (
        <Plain
          verb="hold"
          props={props}
          send={(reason) => api.settle(handle, { decision: "hold", reason, fence, updatedAt })}
        />
      );
    case "forget":
      return <Plain verb="forget" props={props} send={(reason) => api.forget(handle, { reason, fence })} />;
    case "reveal":
      return <Reveal record={props.answer.record} close={props.close} done={() => props.done(undefined)} />;
  }
}

function hindranceOf(permission: string | undefined, isAllowed: boolean, because: string): string | undefined {
  return permission ?? (isAllowed ? undefined : because);
}

export function Decide(props: DecideProps): JSX.Element {
  const { answer, done } = props;
  const { may, record } = answer;
  const [open, setOpen] = useState<Verb>();
  const settle = hindranceOf(useHindrance("settle"), may.settle, words().settleOnly);
  const forget = hindranceOf(useHindrance("erase"), may.forget, words().forgetOnly);
  const reveal = hindranceOf(useHindrance("reveal"), may.reveal, words().revealOnly);
  const write = async (send: () => Promise<unknown>): Promise<void> => {
    try {
      await send();
      announce(words().written);
      setOpen(undefined);
      done(undefined);
    } catch (thrown) {
      const error = ApiError.of(thrown);
      if (error.kind !== "changed" || error.problem?.record === undefined) throw error;
      setOpen(undefined);
      done(error.problem.record);
    }
  };
  const button = (verb: Verb, hindrance: string | undefined, more: object, name: ComponentChildren): JSX.Element => (
    <ActionButton hindrance={hindrance} onClick={() => setOpen(verb)} {...more}>
      {name}
    </ActionButton>
  );
  const { verbs } = words();
  return (
    <section class="decide" aria-label={words().decisions}>
      <div class="row">
        {button("adopt", settle, { isMain: record.state === "unknown" }, verbs.adopt.button)}
        {button("release", settle ?? foundText(props.probes), { isDangerous: true }, verbs.release.button)}
        {button("hold", settle, {}, verbs.hold.button)}
        {button("reveal", reveal, {}, verbs.reveal.button)}
        {button("forget", forget, { isDangerous: true }, verbs.forget.button)}
      </div>
      {settle !== undefined && record.state === "unknown" && <p class="muted small">{settle}</p>}
      {open !== undefined && <OpenVerb verb={open} {...props} close={() => setOpen(undefined)} write={write} />}
    </section>
  );
}
