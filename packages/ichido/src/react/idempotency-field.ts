/** A form's key, as a hidden field: for forms and server actions, also before any script has run. */
import { uuidV7 } from "../client/key-source.ts";
import type { ReactLike } from "./react-like.ts";

export interface IdempotencyFieldProps {
  /** The field's name. Default `idempotencyKey`. */
  readonly name?: string;
  /** Of an attempt of your own. Default: made with the form, the same over all its submissions. */
  readonly value?: string;
  /** Whatever changes when the intent is over, such as the state of `useActionState`: the next submission gets a new key. */
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
    const { name = "idempotencyKey", value, after } = props;
    const [made, setMade] = react.useState(() => ({ after, key: uuidV7() }));
    if (!Object.is(made.after, after)) setMade({ after, key: uuidV7() });
    const key = value ?? made.key;
    return react.createElement("input", {
      type: "hidden",
      name,
      key,
      defaultValue: key,
      // The key of the page as the server rendered it may already be on its way: the browser keeps that one.
      suppressHydrationWarning: true,
    }) as FieldElement;
  };
}
