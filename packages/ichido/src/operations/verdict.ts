/** What the evidence says, in one word and one sentence. Pure: the same evidence gives the same verdict. */
import { defaults } from "../core/contract/defaults.ts";
import type { StoredRecord } from "../core/contract/store.ts";
import { isSameHash } from "../core/record-machine/claim.ts";
import type { Evidence } from "./evidence.ts";
import { recordName } from "./question.ts";

export const verdicts = {
  /** One effect, however often it was asked for. */
  "one-effect": "ok",
  /** Different content under different keys, each with one effect: the customer asked for both. */
  "two-intents": "ok",
  /** It was refused, or given back: the provider did nothing. */
  "no-effect": "ok",
  "in-flight": "ok",
  /** An event, by its inbox. */
  "event-once": "ok",
  /** A broker has it, and its inbox does not. */
  "event-sent": "ok",
  /** It was given up, and a person let it go. */
  "event-discarded": "ok",
  "event-dead": "warning",
  /** It failed, or stands behind one of its key that did: it is tried again. */
  "event-parked": "warning",
  /** A person lets it run again. */
  "event-replaying": "warning",
  /** It is in the outbox, not sent yet. */
  "event-pending": "warning",
  /** The same content under two keys, and an effect for each: the client made a second key. */
  "two-keys-one-intent": "warning",
  /** The provider did it, and the record does not say so. */
  "orphan-effect": "warning",
  /** The record says that it was done, and the provider does not know of it. */
  phantom: "warning",
  /** In doubt, and nobody can be asked, or the provider has nothing: it may be late. */
  "not-known": "warning",
  /** One key, one reference, two effects: the provider ignored the reference. */
  "two-effects-one-key": "page",
  "nothing-found": "warning",
} as const satisfies Readonly<Record<string, "ok" | "warning" | "page">>;

export type VerdictKind = keyof typeof verdicts;

/** What one record brought about, as far as it can be told. */
export interface EffectCount {
  readonly count: number;
  /** `provider`: it was asked. `record`: taken from the stored answer. `nobody`: cannot be told. */
  readonly by: "provider" | "record" | "nobody";
  readonly problem?: string;
  /** All that were asked have nothing under its references, whoever counted. */
  readonly nothingFound?: true;
}

const isDone = (status: number): boolean => status >= 200 && status < 400;

/** In observe mode every request runs its handler, whatever its record says. */
const hasRunBeside = ({ attempts }: Evidence): boolean => attempts.some(({ observed }) => observed === true);

export function effectsOf(evidence: Evidence): EffectCount {
  const { record, probes, steps } = evidence;
  const told = probes.filter(({ problem }) => problem === undefined);
  // Of one step: several steps have an effect each.
  const count = Math.max(0, ...told.map(({ effects }) => effects.length));
  const problem = probes.find((each) => each.problem !== undefined)?.problem;
  const hasNothing = problem === undefined && told.length > 0 && count === 0;
  const asked = problem !== undefined ? { problem } : hasNothing ? { nothingFound: true as const } : {};
  const isTold = count > 0 || (told.length > 0 && told.length === probes.length && steps.length > 0);
  if (isTold) return { count, by: "provider", ...asked };
  if (hasRunBeside(evidence)) return { count: 0, by: "nobody", ...asked };
  if (record.state === "completed") {
    const done = isDone(record.response?.status ?? 0);
    // An error after a call says nothing about the call.
    if (!done && steps.length > 0) return { count: 0, by: "nobody", ...asked };
    return { count: done ? 1 : 0, by: "record", ...asked };
  }
  if (record.state === "failed" && steps.length === 0) return { count: 0, by: "record", ...asked };
  return { count: 0, by: "nobody", ...asked };
}

/** The log tells of twins after a while, or not at all: what both records say themselves is enough. */
function areTwins({ record: one }: Evidence, { record: other }: Evidence, withinMs: number): boolean {
  const [a, b] = [one.identity, other.identity];
  const apartMs = Math.abs(one.createdAtMs - other.createdAtMs);
  return (
    withinMs > 0 &&
    apartMs <= withinMs &&
    a.operation === b.operation &&
    isSameHash(a.scopeHash, b.scopeHash) &&
    isSameHash(one.fingerprint.canonical, other.fingerprint.canonical)
  );
}

/** Records that stand for one intent: those that twins join. */
export function intentsOf(evidence: readonly Evidence[], withinMs: number): readonly (readonly Evidence[])[] {
  const groups = new Map<string, Evidence[]>();
  const placeOf = new Map<string, string>();
  for (const each of evidence) {
    const name = recordName(each.record);
    const others = each.twins.flatMap(({ first, second }) =>
      [first, second].map((identity) =>
        recordName({ identity: { ...identity, tenant: undefined, principal: undefined } }),
      ),
    );
    const alike = evidence.filter((other) => areTwins(each, other, withinMs)).map(({ record }) => recordName(record));
    const met = [...new Set([...others, ...alike].flatMap((other) => placeOf.get(other) ?? []))];
    const place = met[0] ?? name;
    const joined = [each, ...met.flatMap((other) => groups.get(other) ?? [])];
    for (const other of met) groups.delete(other);
    groups.set(place, joined);
    for (const { record } of joined) placeOf.set(recordName(record), place);
  }
  return [...groups.values()];
}

/** Nobody can say whether it took effect. */
export function isOpen(state: StoredRecord["state"], { count, by }: EffectCount): boolean {
  return by === "nobody" || (state === "unknown" && count === 0);
}

/** The first that holds is the verdict: what harms a customer comes before what does not. */
function ofIntent(intent: readonly Evidence[]): VerdictKind {
  const seen = intent.map((evidence) => ({ evidence, effects: effectsOf(evidence) }));
  const total = seen.reduce((sum, { effects }) => sum + effects.count, 0);
  const has = (holds: (one: (typeof seen)[number]) => boolean): boolean => seen.some(holds);
  if (has(({ effects }) => effects.by === "provider" && effects.count > 1)) return "two-effects-one-key";
  if (total > 1) return "two-keys-one-intent";
  if (has(({ evidence }) => evidence.record.state === "processing")) return "in-flight";
  // What a provider does not know of yet, it may have done: of a record in doubt, its silence tells nothing.
  if (has(({ evidence: { record }, effects }) => isOpen(record.state, effects))) return "not-known";
  const isOrphan = has(({ evidence, effects }) => evidence.record.state !== "completed" && effects.count === 1);
  if (isOrphan) return "orphan-effect";
  const isPhantom = has(
    ({ evidence: { record, steps }, effects }) =>
      record.state === "completed" &&
      isDone(record.response?.status ?? 0) &&
      effects.by === "provider" &&
      effects.count === 0 &&
      steps.some(({ state }) => state === "finished"),
  );
  if (isPhantom) return "phantom";
  return total === 1 ? "one-effect" : "no-effect";
}

/** What the provider did of an intent beyond the first time, by its ids: of each step, in the order of the keys. */
function refundOf(intent: readonly Evidence[]): readonly string[] {
  // Where a record counted, nobody told the id of what it counted: a list without it would read as if it were whole.
  const isNamed = intent.map(effectsOf).every(({ count, by }) => count === 0 || by === "provider");
  if (!isNamed) return [];
  const idsOf = new Map<string, string[]>();
  for (const { step, effects } of intent.flatMap(({ probes }) => probes))
    idsOf.set(step, [...(idsOf.get(step) ?? []), ...effects.map(({ id }) => id)]);
  return [...idsOf.values()].flatMap((ids) => ids.slice(1));
}

/** What is harmful or open, the worst first. */
const order: readonly VerdictKind[] = [
  "two-effects-one-key",
  "two-keys-one-intent",
  "not-known",
  "orphan-effect",
  "phantom",
  "in-flight",
];

export interface JudgedIntent {
  readonly verdict: VerdictKind;
  readonly evidence: readonly Evidence[];
  /** The provider's ids of what it did beyond the first. Empty: nothing, or nobody names it. */
  readonly refund: readonly string[];
}

export interface Judgement {
  readonly verdict: VerdictKind;
  /** Each with a verdict of its own, in the order of their first keys. */
  readonly intents: readonly JudgedIntent[];
}

function ofAll(found: readonly VerdictKind[]): VerdictKind {
  const worst = order.find((kind) => found.includes(kind));
  if (worst !== undefined) return worst;
  const effects = found.filter((kind) => kind === "one-effect").length;
  if (effects > 1) return "two-intents";
  return effects === 1 ? "one-effect" : found.length === 0 ? "nothing-found" : "no-effect";
}

/** `suspectWithinMs`: as the engine has it. */
export function judge(evidence: readonly Evidence[], suspectWithinMs: number = defaults.suspectWithinMs): Judgement {
  const at = (each: Evidence): number => evidence.indexOf(each);
  const intents = intentsOf(evidence, suspectWithinMs)
    .map((intent) => intent.toSorted((one, other) => at(one) - at(other)))
    .toSorted(([one], [other]) => at(one as Evidence) - at(other as Evidence))
    .map((intent) => ({ verdict: ofIntent(intent), evidence: intent, refund: refundOf(intent) }));
  return { verdict: ofAll(intents.map(({ verdict }) => verdict)), intents };
}

/** Those that a verdict is about: of the others it says nothing. */
export function isAbout(verdict: VerdictKind, intent: { readonly verdict: VerdictKind }): boolean {
  return intent.verdict === (verdict === "two-intents" ? "one-effect" : verdict);
}

/** What is harmful or open in any of them, the worst first. */
export function harmsOf(intents: readonly { readonly verdict: VerdictKind }[]): readonly VerdictKind[] {
  return order.filter((kind) => intents.some(({ verdict }) => verdict === kind));
}
