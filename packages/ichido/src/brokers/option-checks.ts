/** What the options of brokers have in common; errors name the option, what was expected and what was given. */
import { optionInvalid, oneOfOption } from "../core/contract/option-checks.ts";

export const partitionsDefault = 8;
export const partitionsMax = 256;
export const concurrencyDefault = 16;
export const concurrencyMax = 1_000;
export const timeoutMsDefault = 5_000;
export const timeoutMsMax = 600_000;
export const dayMs = 86_400_000;
/** How long a broker keeps an event that nobody takes, and so the longest time after which it may come again. */
export const keepMsDefault = 7 * dayMs;
export const keepMsMax = 3_650 * dayMs;

const nameForm = /^[A-Za-z0-9_-]{1,200}$/;
const dottedForm = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;

/** A name that every server takes, also as a part of a subject. */
export function nameOption(option: string, value: unknown): string {
  if (typeof value === "string" && nameForm.test(value)) return value;
  throw optionInvalid(option, 'a name of 1 to 200 letters, digits, "_" and "-"', value);
}

export function dottedOption(option: string, value: unknown): string {
  if (typeof value === "string" && value.length <= 200 && dottedForm.test(value)) return value;
  throw optionInvalid(option, 'dot-separated names of letters, digits, "_" and "-", at most 200 characters', value);
}

export function orderOption(option: string, value: unknown): "key" | "none" {
  return oneOfOption(option, value, ["key", "none"]);
}
