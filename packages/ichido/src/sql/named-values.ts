/** Statements with named values, such as `:handler`. */
const place = /(?<![:\w]):([a-z_]+)/g;

/** Texts are few, and the same ones come again with every message. */
const split = new Map<string, readonly string[]>();

/** Text and names in turns, beginning and ending with text. */
export function textAndNames(text: string): readonly string[] {
  let parts = split.get(text);
  if (parts === undefined) {
    parts = text.split(place);
    split.set(text, parts);
  }
  return parts;
}
