/**
 * How options are checked, in every room: once, at construction, with errors that name option, expectation and value.
 */
import { IchidoError } from "./errors.ts";
import { nearestOf } from "./nearest-name.ts";

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "function") return "a function";
  if (value instanceof Promise) return "a promise (is an await missing?)";
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  return String(value);
}

export function optionInvalid(option: string, expected: string, value: unknown): IchidoError {
  return new IchidoError("option-invalid", `option ${option}: expected ${expected}, got ${shown(value)}`);
}

export function integerOption(option: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw optionInvalid(option, `an integer from ${min} to ${max}`, value);
}

export function oneOfOption<const T extends string>(option: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw optionInvalid(option, allowed.map((each) => `"${each}"`).join(" or "), value);
  return found;
}

export function booleanOption(option: string, value: unknown): boolean {
  if (typeof value !== "boolean") throw optionInvalid(option, "true or false", value);
  return value;
}

export function functionOption(option: string, value: unknown, expected = "a function"): void {
  if (typeof value !== "function") throw optionInvalid(option, expected, value);
}

export function optionalFunction(option: string, value: unknown): void {
  if (value !== undefined) functionOption(option, value);
}

/** Every name that an options object may have: the compiler checks that none is missing. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Without this check a misspelt option would be ignored silently. `where` is the function that the user called, with
 * the name of the object inside its options where that is meant.
 */
export function knownOptions<Options extends object>(
  where: string,
  options: Options,
  names: OptionNames<NoInfer<Options>>,
): void {
  if (typeof options !== "object" || options === null) throw optionInvalid(where, "an object of options", options);
  const known = Object.keys(names);
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(names, name)) continue;
    const nearest = nearestOf(name, known);
    const advice = nearest === undefined ? `it has ${known.join(", ")}` : `did you mean ${nearest}?`;
    throw new IchidoError("option-invalid", `option ${name}: ${where} has no such option; ${advice}`);
  }
}

/** For the most common first mistake: the options are passed in place of the engine. */
export function engineOption(value: unknown): void {
  const { route, decide } = Object(value) as { readonly route?: unknown; readonly decide?: unknown };
  if (typeof route === "function" && typeof decide === "function") return;
  throw optionInvalid("ichido", "the engine that createIchido(…) gave", value);
}
