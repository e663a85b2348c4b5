/** Options, checked once, with errors that name the option, what was expected and what was given. */
import { nearestOf } from "../core/contract/nearest-name.ts";
import { ClientError } from "./errors.ts";
import { retryDefaults, type RetryOptions } from "./retry-policy.ts";

/** The longest that timers can wait: 2^31 - 1, some 24 days. */
export const msMax = 2_147_483_647;

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : typeof value;
}

export function expectOption(holds: boolean, name: string, expected: string, value: unknown): void {
  if (!holds) throw new ClientError("option-invalid", `option ${name}: expected ${expected}, got ${shown(value)}`);
}

/** Without this check a misspelt option would be ignored silently. `names` is separated by blanks. */
export function expectNames(where: string, options: object, names: string): void {
  const known = names.split(" ");
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const nearest = nearestOf(name, known);
    const advice = nearest === undefined ? `it has ${known.join(", ")}` : `did you mean ${nearest}?`;
    throw new ClientError("option-invalid", `option ${name}: ${where} has no such option; ${advice}`);
  }
}

export function expectFunction(name: string, value: unknown): void {
  expectOption(typeof value === "function", name, "a function", value);
}

export function expectWhole(name: string, value: unknown, min: number): void {
  const holds = Number.isInteger(value) && (value as number) >= min && (value as number) <= msMax;
  expectOption(holds, name, `a whole number from ${min} to ${msMax}`, value);
}

const positive = ["triesMax", "deadlineMs", "callTimeoutMs"];

/** Puts given members over the defaults; absent ones may also be `undefined`. */
export function resolveRetry(...given: readonly (RetryOptions | undefined)[]): Required<RetryOptions> {
  const resolved: Record<string, unknown> = { ...retryDefaults };
  for (const options of given) expectNames("retry", options ?? {}, Object.keys(retryDefaults).join(" "));
  for (const [name, value] of given.flatMap((options) => Object.entries(options ?? {}) as [string, unknown][])) {
    if (value === undefined) continue;
    expectWhole(`retry.${name}`, value, positive.includes(name) ? 1 : 0);
    resolved[name] = value;
  }
  return resolved as unknown as Required<RetryOptions>;
}

const absolute = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Joins base and path with one slash: `/v1/` and `/payments` make `/v1/payments`. A complete address stays as it is.
 */
export function urlOf(baseUrl: string | undefined, path: string): string {
  const isWhole = baseUrl === undefined || absolute.test(path);
  const joined = isWhole ? path : `${baseUrl.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;
  const page = (globalThis as { location?: { href: string } }).location?.href;
  // `fetch` reports a bad address like a lost connection: it would be retried in vain.
  expectOption(URL.canParse(joined, page), "the address", "a URL; set baseUrl", joined);
  return joined;
}
