/** Options, checked once, with errors that name the option, what was expected and what was given. */
import { ClientError } from "./errors.ts";
import { retryDefaults, type RetryOptions } from "./retry-policy.ts";

/** The longest that timers can wait: 2^31 - 1, some 24 days. */
const msMax = 2_147_483_647;

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : typeof value;
}

export function expectOption(holds: boolean, name: string, expected: string, value: unknown): void {
  if (!holds) throw new ClientError("option-invalid", `${name} must be ${expected}; it is ${shown(value)}`);
}

export function expectFunction(name: string, value: unknown): void {
  expectOption(value === undefined || typeof value === "function", name, "a function", value);
}

/** Given members over the defaults; absent ones may also be `undefined`. */
export function resolveRetry(...given: readonly (RetryOptions | undefined)[]): Required<RetryOptions> {
  const resolved: Record<string, number> = { ...retryDefaults };
  for (const options of given) {
    for (const [name, value] of Object.entries(options ?? {}) as [string, unknown][]) {
      if (value === undefined) continue;
      expectOption(name in retryDefaults, "retry", `made of ${Object.keys(retryDefaults).join(", ")}`, name);
      const isCount = name === "tries" || name === "budget";
      const min = name === "tries" || name === "deadlineMs" || name === "timeoutMs" ? 1 : 0;
      const holds =
        typeof value === "number" && value >= min && (isCount ? Math.floor(value) === value : value <= msMax);
      expectOption(
        holds,
        `retry.${name}`,
        isCount ? `a whole number of at least ${min}` : `milliseconds, ${min} to ${msMax}`,
        value,
      );
      resolved[name] = value as number;
    }
  }
  return resolved as unknown as Required<RetryOptions>;
}

const absolute = /^[a-z][a-z0-9+.-]*:/i;

/** Below the base, whatever slashes are given: `/v1/` and `/payments` make `/v1/payments`. An address stays itself. */
export function urlOf(baseUrl: string | undefined, path: string): string {
  const isWhole = baseUrl === undefined || absolute.test(path);
  const joined = isWhole ? path : `${baseUrl.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;
  const page = (globalThis as { location?: { href: string } }).location?.href;
  // `fetch` reports a bad address like a lost connection: it would be retried in vain.
  expectOption(URL.canParse(joined, page), "the address", "a URL; set baseUrl or pass a whole address", joined);
  return joined;
}
