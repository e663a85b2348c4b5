/** A text with names of settings in it, which breaks after the sign that ends a name, not inside a word. */
import type { JSX } from "preact";

export function Breakable({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {text.split(/(?<=[=_/])(?=\w)/).map((part, at) => (
        <>
          {at > 0 && <wbr />}
          {part}
        </>
      ))}
    </>
  );
}
