/** Which events go where, and what is kept in order. The most specific pattern wins. */
import { isTopicPattern, isWanted, topicPattern } from "../brokers/topic-pattern.ts";
import { integerOption, knownOptions, oneOfOption, optionInvalid } from "../core/contract/option-checks.ts";
import { IchidoError } from "../core/contract/errors.ts";

export interface TopicRule {
  /** The name of one of the relay's routes. */
  readonly to: string;
  /** `key`: events of one key leave one after the other, in the order in which they were added. Default `key`. */
  readonly order?: "key" | "none";
  /**
   * The pattern of another rule with which it keeps one order per key; that rule may be gone. For a rule that is renamed or
   * split while events wait: without it those of the old rule and those of the new one have no order among them.
   */
  readonly orderedWith?: string;
  /** A dead letter of an ordered key stops that key until a person decides (`park-key`, default), or is passed by (`skip`). */
  readonly onDead?: "park-key" | "skip";
  /** How often the broker may refuse an event before it is a dead letter. Default 10. */
  readonly attemptsMax?: number;
}

export interface ResolvedRule extends Required<TopicRule> {
  readonly pattern: string;
}

export interface Topics {
  find(topic: string): ResolvedRule | undefined;
  readonly routes: ReadonlySet<string>;
}

export const attemptsMaxDefault = 10;
const cacheMax = 10_000;

function invalid(message: string): IchidoError {
  return new IchidoError("option-invalid", `option ${message}`);
}

function resolve(pattern: string, rule: TopicRule): ResolvedRule {
  const name = `topics[${JSON.stringify(pattern)}]`;
  topicPattern("topics", pattern);
  knownOptions(name, rule, { to: true, order: true, orderedWith: true, onDead: true, attemptsMax: true });
  const { to, order = "key", onDead = "park-key", attemptsMax = attemptsMaxDefault, orderedWith = pattern } = rule;
  if (typeof to !== "string" || to === "") throw optionInvalid(`${name}.to`, "the name of a route", to);
  oneOfOption(`${name}.order`, order, ["key", "none"]);
  oneOfOption(`${name}.onDead`, onDead, ["park-key", "skip"]);
  integerOption(`${name}.attemptsMax`, attemptsMax, 1, Number.MAX_SAFE_INTEGER);
  if (!isTopicPattern(orderedWith))
    throw optionInvalid(`${name}.orderedWith`, 'the pattern of a rule, such as "order.*"', orderedWith);
  if (order === "none" && orderedWith !== pattern)
    throw invalid(`${name}.orderedWith: a rule with order "none" keeps no order; leave one of the two out`);
  return { pattern, to, order, orderedWith, onDead, attemptsMax };
}

/** One order leads one way: that one broker has taken an event over says nothing about another broker. */
function checkOrders(rules: readonly ResolvedRule[]): void {
  const ways = new Map<string, ResolvedRule>();
  for (const rule of rules) {
    const first = ways.get(rule.orderedWith) ?? rule;
    ways.set(rule.orderedWith, first);
    if (first.to === rule.to) continue;
    const [one, other] = [first.pattern, rule.pattern].map((pattern) => JSON.stringify(pattern));
    throw invalid(`topics: rules ${one} and ${other} keep one order (orderedWith), so they must have the same "to"`);
  }
}

export function createTopics(rules: Readonly<Record<string, TopicRule>>): Topics {
  if (typeof rules !== "object" || rules === null)
    throw optionInvalid("topics", 'an object of rules by topic, such as { "order.*": { to: "nats" } }', rules);
  const resolved = Object.entries(rules).map(([pattern, rule]) => resolve(pattern, rule));
  checkOrders(resolved);
  const exact = new Map(resolved.filter(({ pattern }) => !pattern.endsWith("*")).map((rule) => [rule.pattern, rule]));
  const open = resolved
    .filter(({ pattern }) => pattern.endsWith("*"))
    .toSorted((one, other) => other.pattern.length - one.pattern.length);
  const seen = new Map<string, ResolvedRule | undefined>();

  return {
    routes: new Set(resolved.map(({ to }) => to)),
    find(topic) {
      if (seen.has(topic)) return seen.get(topic);
      const rule = exact.get(topic) ?? open.find(({ pattern }) => isWanted(topic, [pattern]));
      if (seen.size < cacheMax) seen.set(topic, rule);
      return rule;
    },
  };
}
