/** Rules that several inputs share. */

export const AMOUNT = "a positive integer in minor units, at most 2^53 - 1";

export function membersOf(body: unknown): Readonly<Record<string, unknown>> {
  return isObject(body) ? body : {};
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

/** A lone surrogate cannot be stored as UTF-8 and given back unchanged; NUL cannot be stored by PostgreSQL. */
export function isText(value: unknown, charactersMax: number): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    !/[\p{Surrogate}\0]/u.test(value) &&
    Array.from(value).length <= charactersMax
  );
}
