/** Words in several languages: the first is the measure, and a language that lacks one of its words does not compile. */

/** The shape of a dictionary without its own texts. */
export type Shape<Words> = Words extends string
  ? string
  : Words extends (...args: infer Args) => infer Result
    ? (...args: Args) => Shape<Result>
    : Words extends readonly (readonly [string, string])[]
      ? readonly (readonly [string, string])[]
      : Words extends readonly string[]
        ? readonly string[]
        : { readonly [Name in keyof Words]: Shape<Words[Name]> };

/** The words of the language that is chosen now. */
export function dictionary<Lang extends string, Words>(
  languages: Readonly<Record<Lang, Words>>,
  chosen: () => Lang,
): () => Words {
  return () => languages[chosen()];
}
