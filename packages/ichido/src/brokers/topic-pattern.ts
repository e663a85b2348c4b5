/** Topics that are wanted: exact ones, or all that begin alike (`order.*`, `*`). */
import { optionInvalid } from "../core/contract/option-checks.ts";

const form = /^(?:[A-Za-z0-9_-]+\.)*(?:[A-Za-z0-9_-]+|\*)$/;
const lengthMax = 200;
const patternsMax = 100;

export function isTopicPattern(value: unknown): value is string {
  return typeof value === "string" && value.length <= lengthMax && form.test(value);
}

export function topicPattern(option: string, value: unknown): string {
  if (isTopicPattern(value)) return value;
  throw optionInvalid(option, 'a topic such as "order.paid", or one that ends in "*", as "order.*" or "*"', value);
}

export function topicsOption(option: string, value: unknown): readonly string[] {
  const patterns: unknown = value ?? ["*"];
  if (!Array.isArray(patterns) || patterns.length === 0 || patterns.length > patternsMax)
    throw optionInvalid(option, `1 to ${patternsMax} topics`, value);
  return patterns.map((pattern: unknown) => topicPattern(option, pattern));
}

export function isWanted(topic: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? topic.startsWith(pattern.slice(0, -1)) : topic === pattern,
  );
}
