/** Parameters of an address. What is not known, empty or there twice is refused: a filter that says nothing must not find everything. */
import { Problem } from "./problem.ts";

export const limitDefault = 50;
export const limitMax = 200;
const textMax = 1_024;

function wrong(parameter: string, expected: string): Problem {
  return new Problem("parameter", `${parameter}: expected ${expected}`, { parameter });
}

/**
 * Of the address, or of a header: access logs write addresses down, and what is asked for may be a key. The address says
 * `in=header` then: whoever drops the header on the way must not make everything of a filter.
 */
export function parametersOf(address: URLSearchParams, header: string | undefined): URLSearchParams {
  const isMarked = address.get("in") === "header";
  if (header === undefined && isMarked)
    throw new Problem("parameter", "something on the way dropped the header x-ichido-query: let it through", {
      parameter: "in",
    });
  if (header === undefined) return address;
  if (address.size > (isMarked ? 1 : 0))
    throw new Problem("parameter", "parameters stand in the address or in the header x-ichido-query, not in both");
  return new URLSearchParams(header);
}

export class Query {
  readonly #values = new Map<string, string>();

  constructor(given: URLSearchParams, names: readonly string[]) {
    for (const [name, value] of given) {
      if (!names.includes(name)) {
        const known = names.length === 0 ? "none" : names.join(", ");
        throw new Problem("parameter", `${name.slice(0, 40)}: there is no such parameter; known: ${known}`, {
          parameter: name.slice(0, 40),
        });
      }
      if (this.#values.has(name)) throw wrong(name, "one value");
      if (value === "" || value.length > textMax) throw wrong(name, `1 to ${textMax} characters`);
      this.#values.set(name, value);
    }
  }

  text(name: string): string | undefined {
    return this.#values.get(name);
  }

  oneOf<const Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const value = this.text(name);
    const found = words.find((word) => word === value);
    if (value !== undefined && found === undefined) throw wrong(name, `one of ${words.join(", ")}`);
    return found;
  }

  whole(name: string, min: number, max: number): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) throw wrong(name, `a whole number from ${min} to ${max}`);
    return number;
  }

  number(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = /^\d{1,15}(\.\d{1,6})?$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= 0)) throw wrong(name, "a number");
    return number;
  }

  moment(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const ms = /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(ms)) throw wrong(name, "a moment such as 2026-11-18T14:05:00Z");
    return ms;
  }

  /** `name=value`: cut at the first sign, so that values may hold it. */
  pair(name: string): readonly [string, string] | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const at = value.indexOf("=");
    if (at < 1 || at === value.length - 1) throw wrong(name, "name=value");
    return [value.slice(0, at), value.slice(at + 1)];
  }

  get limit(): number {
    return this.whole("limit", 1, limitMax) ?? limitDefault;
  }
}
