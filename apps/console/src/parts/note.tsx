/** Words about what is not there: nothing yet, nothing found, something wrong. Each says what to do. */
import type { ComponentChildren, JSX } from "preact";
import type { ApiError } from "../api.ts";
import { words } from "../i18n/words.ts";
import type { Loaded } from "../load.ts";
import { Icon, type IconName } from "./icon.tsx";
import type { Tone } from "./state.tsx";

interface NoteProps {
  readonly tone: Tone;
  readonly title: string;
  readonly icon?: IconName;
  readonly children?: ComponentChildren;
  readonly isAlert?: boolean;
}

export function Note({ tone, title, icon = "info", children, isAlert = false }: NoteProps): JSX.Element {
  return (
    <div class={`note tone-${tone}`} role={isAlert ? "alert" : undefined}>
      <span class={`tone-${tone}`}>
        <Icon name={icon} />
      </span>
      <div>
        <strong>{title}</strong>
        {children}
      </div>
    </div>
  );
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Loading(): JSX.Element {
  return (
    <div class="bars" role="status" aria-label={words().loading}>
      <i />
      <i />
      <i />
      <i />
    </div>
  );
}

/** What went wrong, in the reader's language where it is known, and what to do about it. */
export function Failure({ error, again }: { readonly error: ApiError; readonly again?: () => void }): JSX.Element {
  const { title, advice } = words().failures[error.kind];
  return (
    <Note tone={error.kind === "not-found" ? "warn" : "bad"} icon="warning" title={title} isAlert>
      <p>{error.permission === undefined ? advice : words().needsPermission(error.permission)}</p>
      {error.detail !== "" && <p class="muted break">{error.detail}</p>}
      {again !== undefined && (
        <button type="button" class="button" onClick={error.kind === "session" ? () => location.reload() : again}>
          {error.kind === "session" ? words().reloadPage : words().tryAgain}
        </button>
      )}
    </Note>
  );
}

interface ShownProps<Value> {
  readonly loaded: Loaded<Value>;
  readonly children: (value: Value) => ComponentChildren;
}

/** Loading, failure or the value; what is stale stays in sight below the failure. */
export function Shown<Value>({ loaded, children }: ShownProps<Value>): JSX.Element {
  const { value, error, again } = loaded;
  return (
    <>
      {error !== undefined && <Failure error={error} again={again} />}
      {value !== undefined ? children(value) : error === undefined && <Loading />}
    </>
  );
}
