/** What a write says: JSON of known members, each of the right kind. */
import { Problem } from "./problem.ts";

export const reasonLengthMax = 200;
const textMax = 100_000;

function wrong(parameter: string, expected: string): Problem {
  return new Problem("body", `${parameter}: expected ${expected}`, { parameter });
}

type Members = Readonly<Record<string, unknown>>;

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export class Body {
  readonly #members: Members;

  constructor(value: unknown, names: readonly string[]) {
    if (!isMembers(value)) throw new Problem("body", "expected a JSON object");
    const stranger = Object.keys(value).find((name) => !names.includes(name));
    if (stranger !== undefined) throw wrong(stranger.slice(0, 40), `one of ${names.join(", ")}`);
    this.#members = value;
  }

  get reason(): string {
    const { reason } = this.#members;
    if (typeof reason === "string" && reason.trim() !== "" && reason.length <= reasonLengthMax) return reason;
    throw wrong("reason", `why, for the audit: 1 to ${reasonLengthMax} characters`);
  }

  get fence(): number {
    const { fence } = this.#members;
    if (typeof fence === "number" && Number.isSafeInteger(fence) && fence >= 0) return fence;
    throw wrong("fence", "the fence of the record as you saw it");
  }

  text(name: string): string {
    const value = this.#members[name];
    if (typeof value === "string" && value !== "" && value.length <= textMax) return value;
    throw wrong(name, "a text");
  }

  boolean(name: string, fallback?: boolean): boolean {
    const value = this.#members[name] ?? fallback;
    if (typeof value === "boolean") return value;
    throw wrong(name, "true or false");
  }

  whole(name: string, min: number, max: number): number {
    const value = this.#members[name];
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    throw wrong(name, `a whole number from ${min} to ${max}`);
  }

  oneOf<const Word extends string>(name: string, words: readonly Word[]): Word {
    const found = words.find((word) => word === this.#members[name]);
    if (found === undefined) throw wrong(name, `one of ${words.join(", ")}`);
    return found;
  }

  has(name: string): boolean {
    return this.#members[name] !== undefined;
  }

  object(name: string, names: readonly string[]): Body {
    const value = this.#members[name];
    if (!isMembers(value)) throw wrong(name, "an object");
    return new Body(value, names);
  }

  /** Member by member: a map of texts. */
  texts(name: string, countMax: number): Readonly<Record<string, string>> {
    const value = this.#members[name] ?? {};
    if (!isMembers(value) || Object.keys(value).length > countMax) throw wrong(name, `at most ${countMax} texts`);
    for (const each of Object.values(value)) if (typeof each !== "string") throw wrong(name, "texts");
    return value as Readonly<Record<string, string>>;
  }

  list(name: string, countMax: number): readonly unknown[] {
    const value = this.#members[name];
    if (Array.isArray(value) && value.length > 0 && value.length <= countMax) return value as readonly unknown[];
    throw wrong(name, `a list of 1 to ${countMax}`);
  }
}
