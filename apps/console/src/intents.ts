/** Which of the customer's keys a verdict is about: it says nothing of the others. */
import type { AskAnswer, AskedKeyView } from "./contract.ts";

type Verdict = AskAnswer["verdict"];

export function intentsAbout({ verdict, intents }: AskAnswer, kind: Verdict = verdict): AskAnswer["intents"] {
  return intents.filter((intent) => intent.verdict === (kind === "two-intents" ? "one-effect" : kind));
}

/** By intent. */
export function keysAbout(answer: AskAnswer): readonly (readonly AskedKeyView[])[] {
  return intentsAbout(answer).map(({ keys: names }) => answer.keys.filter(({ name }) => names.includes(name)));
}

/** The verdict, and what is to be said of other intents beside it. */
export function verdictsIn({ verdict, intents }: AskAnswer): readonly Verdict[] {
  return [...new Set([verdict, ...intents.map((intent) => intent.verdict)])];
}
