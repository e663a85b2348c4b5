/**
 * Keys for the calls that a protected handler makes to other services.
 *
 * By default the key is derived (`ctx.reference`): the same on every attempt, another for every call, and the caller's
 * own key cannot be read from it. The caller's key itself is forwarded only inside one trust domain: services of one
 * organisation that know the same principals. Elsewhere it would let a stranger replay or block the caller's request,
 * and two calls of one handler would share one key.
 */
import { expectNames } from "./client-options.ts";
import { ClientError } from "./errors.ts";
import { headerText } from "./key-form.ts";

/** What this needs from a handler's context. */
export interface DownstreamContext {
  readonly key: string;
  reference(this: void, name: string): string;
}

export interface DownstreamOptions {
  /** Where the call goes. */
  readonly to?: string | URL;
  /** Origins that may see the caller's own key, such as `https://ledger.internal`. Compared exactly. */
  readonly trustDomain?: readonly string[];
  /** The header of that service. Default `Idempotency-Key`. */
  readonly header?: string;
}

function originOf(address: string | URL, option: string): string {
  const text = String(address);
  const origin = URL.canParse(text) ? new URL(text).origin : "null";
  if (origin === "null") {
    throw new ClientError(
      "option-invalid",
      `option ${option}: expected an http or https address, got ${JSON.stringify(text)}`,
    );
  }
  return origin;
}

/** Headers for one call: `fetch(url, { method: "POST", headers: downstreamHeaders(ctx, "bank.charge") })`. */
export function downstreamHeaders(
  ctx: DownstreamContext,
  name: string,
  options: DownstreamOptions = {},
): Record<string, string> {
  expectNames("downstreamHeaders", options, "to trustDomain header");
  const { to, trustDomain = [], header = "Idempotency-Key" } = options;
  const trusted = trustDomain.map((origin) => originOf(origin, "trustDomain"));
  const forwards = to !== undefined && trusted.includes(originOf(to, "to"));
  return { [header]: forwards ? headerText(ctx.key, undefined) : ctx.reference(name) };
}
