/** Which topics a subscription wants: exact ones, or all that begin alike, written as the routes of an outbox are (`order.*`, `*`). */
import { optionInvalid } from "../core/option-checks.ts";

const patternForm = /^(?:[A-Za-z0-9_-]+\.)*(?:[A-Za-z0-9_-]+|\*)$/;
const patternsMax = 100;

export function topicsOption(option: string, value: unknown): readonly string[] {
  const patterns: unknown = value ?? ["*"];
  if (!Array.isArray(patterns) || patterns.length === 0 || patterns.length > patternsMax)
    throw optionInvalid(option, `1 to ${patternsMax} topics`, value);
  return patterns.map((pattern: unknown) => {
    if (typeof pattern === "string" && pattern.length <= 200 && patternForm.test(pattern)) return pattern;
    throw optionInvalid(option, 'topics such as "order.paid", or such that end in "*", as "order.*" or "*"', pattern);
  });
}

export function isWanted(topic: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? topic.startsWith(pattern.slice(0, -1)) : topic === pattern,
  );
}
