/** What the options of brokers have in common; errors name the option, what was expected and what was given. */
import { optionInvalid } from "../core/contract/option-checks.ts";
import { aFunction, integer, oneOf } from "../core/contract/read-options.ts";
import type { AmqpConnect } from "./rabbitmq-connection.ts";

export const dayMs = 86_400_000;
export const keepMsMax = 3_650 * dayMs;
/** How long a broker keeps an event that no consumer takes, and so the longest time after which it may come again. */
export const keepMsDefault = 7 * dayMs;

export const partitions = integer(1, 256, 8);
export const concurrency = integer(1, 1_000, 16);
export const callTimeoutMs = integer(1, 600_000, 5_000);
export const redeliveryMsMax = integer(1, keepMsMax, keepMsDefault);
export const order = oneOf(["key", "none"], "key");
export const amqpConnect = aFunction<AmqpConnect>("a function that makes an AMQP connection");

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
