/**
 * Reads options by a table that has, for each name, the allowed values and the default. The table describes the options
 * object completely: the compiler lets no name be left out, and a name that is not in the table is refused.
 */
import { systemEnvironment, type Environment } from "./environment.ts";
import { functionOption, integerOption, knownOptions, oneOfOption, type OptionNames } from "./option-checks.ts";

type Values = Readonly<Record<string, unknown>>;

/** Returns the value to use, or throws `option-invalid`. `before` are the options above it in the table, as read. */
export type OptionReader<Value> = (option: string, value: unknown, before: Values) => Value;

export type OptionTable<Options> = { readonly [Name in keyof Options]-?: OptionReader<unknown> };

/** The options as a table returns them. */
export type ReadBy<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends OptionReader<infer Value> ? Value : never;
};

export function readOptions<Options extends object, Table extends OptionTable<Options>>(
  where: string,
  options: Options,
  table: Table & Record<Exclude<keyof Table, keyof Options>, never>,
): ReadBy<Table> {
  knownOptions(where, options, table as unknown as OptionNames<Options>);
  const read: Record<string, unknown> = {};
  for (const [name, reader] of Object.entries(table as Readonly<Record<string, OptionReader<unknown>>>))
    read[name] = reader(name, (options as Values)[name], read);
  return read as ReadBy<Table>;
}

/** Returns the value unchanged: its type needs no check, or the code that uses it checks it. */
export function given<Value>(fallback?: Value): OptionReader<Value> {
  return (_option, value) => (value ?? fallback) as Value;
}

export function optional<Value>(reader: OptionReader<Value>): OptionReader<Value | undefined> {
  return (option, value, before) => (value === undefined ? undefined : reader(option, value, before));
}

export function orElse<Value>(fallback: unknown, reader: OptionReader<Value>): OptionReader<Value> {
  return (option, value, before) => reader(option, value ?? fallback, before);
}

/** `min` may be the name of an option above it in the table: then its value is the least. */
export function integer(min: number | string, max: number, fallback?: number): OptionReader<number> {
  return (option, value, before) =>
    integerOption(option, value ?? fallback, typeof min === "string" ? Number(before[min]) : min, max);
}

export function positive(fallback?: number): OptionReader<number> {
  return integer(1, Number.MAX_SAFE_INTEGER, fallback);
}

export function oneOf<const Word extends string>(allowed: readonly Word[], fallback?: Word): OptionReader<Word> {
  return (option, value) => oneOfOption(option, value ?? fallback, allowed);
}

export function aFunction<Value>(expected?: string): OptionReader<Value> {
  return (option, value) => {
    functionOption(option, value, expected);
    return value as Value;
  };
}

export const environment: OptionReader<Environment> = given(systemEnvironment);
