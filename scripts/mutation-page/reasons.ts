/** Why a mutant may have stayed unnoticed, by the kind of its change and the text of its line: not judged one by one. */
export interface Survivor {
  readonly file: string;
  readonly line: number;
  /** What stands there. */
  readonly source: string;
  readonly replacement: string;
  readonly mutator: string;
  readonly wholeLine: string;
  readonly isReached: boolean;
}

/** In the order in which they are told; each with the words that the list of survivors has for it. */
export const reasons = {
  "no unit test yet": "**No unit test yet**: a branch or a result whose change no test of the room notices",
  "not reached": "No test of the room reaches it",
  text: "Texts for people: messages, details, warnings. No program branches on them, and no test repeats the whole sentence",
  word: "A short word: most where another one is treated alike (the kind that is what is left), or where only an event or a log has it",
  guard:
    "A look whether something is there, or of a kind: most are repeated by another look, or only the compiler wants them",
  moment: "Off by a moment: the edge of a wait, a bound or a jittered pause",
  "put away":
    "A call of a function that is left out, most of them putting away timers, listeners and entries: what stays costs memory or a look in vain",
  names:
    "Never read: names of options are the keys of a table, whose values say nothing; some callers have no use for an answer",
  shape: "An empty list or object in the place of one that is empty, or filled before it is read",
  "crash points": "Crash points, which the crash kit and the simulation pass, not unit tests",
  spans: "Spans and their attributes, of which `traces/traces.test.ts` sees more",
} as const;

export type Reason = keyof typeof reasons;

const sentenceLength = 24;
const looks = /\bundefined\b|\bnull\b|typeof|instanceof|\?\.|\?\?|\bis[A-Z]\w*/;
const puts = /\b(delete|cancel|clear\w*|remove\w*|resolve|forget\w*|stop|close|end|drop\w*)\b/;
const texts = new Set(["StringLiteral", "StringTemplate", "TemplateLiteral"]);

export function reasonOf({ source, mutator, wholeLine, isReached }: Survivor): Reason {
  if (/\bfaults?\b|crash/.test(wholeLine)) return "crash points";
  if (/\bspan\b|traced\(|"idempotency\./.test(wholeLine)) return "spans";
  if (mutator === "BooleanLiteral" && /\w+: true, \w+: true|knownOptions/.test(wholeLine)) return "names";
  if (!isReached) return "not reached";
  if (texts.has(mutator)) return source.includes(" ") && source.length > sentenceLength ? "text" : "word";
  if (mutator === "ArrayDeclaration" || mutator === "ObjectLiteral") return "shape";
  if (mutator === "OptionalChaining" || looks.test(source)) return "guard";
  if (mutator === "ArithmeticOperator" || /Math\.(min|max)|[<>]=?/.test(source.replaceAll("=>", ""))) return "moment";
  if (mutator === "CallExpression" || puts.test(source)) return "put away";
  return "no unit test yet";
}
