/** A form's key, as a hidden field: for forms and server actions, one key from the served page through hydration. */
import { uuidV7 } from "../client/key-source.ts";
import type { ReactLike } from "./react-like.ts";

export interface IdempotencyFieldProps {
  /** The field's name. Default `idempotencyKey`. */
  readonly name?: string;
  /** The key of an attempt of your own; the field follows it. */
  readonly value?: string;
  /**
   * A key that the server makes for this request, so that the form has a key before any script runs. Never make it at
   * build time: all visitors of such a page would share it. Default: no key until the script runs and makes one.
   */
  readonly defaultValue?: string;
  /**
   * A value that changes when the intent is over, such as the state of `useActionState`: the next submission has a new
   * key.
   */
  readonly after?: unknown;
}

/** A React element, without asking for React's types. */
export interface FieldElement {
  readonly type: string;
  readonly props: unknown;
  readonly key: string | null;
}

export function createIdempotencyField(react: ReactLike): (props: IdempotencyFieldProps) => FieldElement {
  return function IdempotencyField(props) {
    const { name = "idempotencyKey", value, defaultValue, after } = props;
    // A server may render a page once for all visitors: so only a key that was given is rendered, and none made.
    const isServed = typeof document === "undefined";
    const [made, setMade] = react.useState(() => ({ after, key: defaultValue ?? (isServed ? undefined : uuidV7()) }));
    if (!Object.is(made.after, after)) setMade({ after, key: uuidV7() });
    const key = value ?? made.key;
    // In the browser React gets no value: at hydration it would write its own over the served one, which may be sent
    // already. A field that was served with a key keeps it. For a new key, `key` makes a new, empty field.
    const fill = react.useCallback(
      (field: { value: string } | null) => {
        if (field !== null && field.value === "") field.value = key ?? "";
      },
      [key],
    );
    return react.createElement("input", {
      type: "hidden",
      name,
      key,
      ref: fill,
      ...(isServed && { defaultValue: key }),
      suppressHydrationWarning: true,
    }) as FieldElement;
  };
}
