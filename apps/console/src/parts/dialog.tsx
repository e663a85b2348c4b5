/** A decision: what will happen in words, a reason, and what makes it hard to do by accident. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError } from "../api.ts";
import { words } from "../i18n/words.ts";
import { Failure } from "./note.tsx";

interface SheetProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** The browser's own dialog: it keeps the focus inside, and Escape closes it. */
export function Sheet({ title, close, children }: SheetProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <div class="sheet">
        <h1 id={name}>{title}</h1>
        {children}
      </div>
    </dialog>
  );
}

interface DecisionProps {
  readonly title: string;
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** What will happen. */
  readonly children: ComponentChildren;
  /** Must be typed: the end of what is decided about. */
  readonly typed?: string | undefined;
  /** Something else is missing. */
  readonly isIncomplete?: boolean;
  readonly close: () => void;
  /** Throws where the server refused. */
  readonly act: (reason: string) => Promise<void>;
}

const reasonMax = 200;

export function Decision(props: DecisionProps): JSX.Element {
  const { title, verb, isDangerous = false, children, typed, isIncomplete = false, close, act } = props;
  const [reason, setReason] = useState("");
  const [echo, setEcho] = useState("");
  const [error, setError] = useState<ApiError>();
  const [isBusy, setIsBusy] = useState(false);
  const isReady = reason.trim() !== "" && (typed === undefined || echo === typed) && !isIncomplete && !isBusy;
  const submit = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      await act(reason.trim());
    } catch (thrown) {
      setError(ApiError.of(thrown));
      setIsBusy(false);
    }
  };
  return (
    <Sheet title={title} close={close}>
      {children}
      <label class="field">
        <span>{words().reason}</span>
        <input
          class="input"
          name="reason"
          maxLength={reasonMax}
          placeholder={words().reasonExample}
          value={reason}
          autocomplete="off"
          onInput={(event) => setReason(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.isComposing && isReady) void submit();
          }}
        />
        <span class="muted small">{words().reasonKept}</span>
      </label>
      {typed !== undefined && (
        <label class="field">
          <span>{words().typeEnd(typed)}</span>
          <input
            class="input mono"
            name="echo"
            value={echo}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => setEcho(event.currentTarget.value.trim())}
          />
        </label>
      )}
      {error !== undefined && <Failure error={error} />}
      <div class="actions">
        <button type="button" class="button" onClick={close}>
          {words().cancel}
        </button>
        <button
          type="button"
          class={`button ${isDangerous ? "danger" : "main-action"}`}
          disabled={!isReady}
          onClick={() => void submit()}
        >
          {isBusy ? words().working : verb}
        </button>
      </div>
    </Sheet>
  );
}

interface ActionButtonProps {
  readonly children: ComponentChildren;
  /** Why it cannot be done; said by the button, which can still be reached. */
  readonly hindrance: string | undefined;
  readonly isDangerous?: boolean;
  readonly isMain?: boolean;
  readonly onClick: () => void;
}

export function ActionButton({ children, hindrance, isDangerous, isMain, onClick }: ActionButtonProps): JSX.Element {
  const name = useId();
  const look = hindrance !== undefined ? "" : isDangerous === true ? " danger" : isMain === true ? " main-action" : "";
  return (
    <>
      <button
        type="button"
        class={`button${look}`}
        aria-disabled={hindrance === undefined ? undefined : "true"}
        aria-describedby={hindrance === undefined ? undefined : name}
        title={hindrance}
        onClick={() => {
          if (hindrance === undefined) onClick();
        }}
      >
        {children}
      </button>
      {hindrance !== undefined && (
        <span id={name} class="unseen">
          {hindrance}
        </span>
      )}
    </>
  );
}
