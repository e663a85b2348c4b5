/** Options of the webhook publisher, checked once. Addresses and secrets never appear in a message. */
import { topicPattern } from "./topic-pattern.ts";
import type { Environment } from "../core/contract/environment.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { optionInvalid, integerOption, knownOptions } from "../core/contract/option-checks.ts";
import { environment, given, integer, readOptions, type ReadBy } from "../core/contract/read-options.ts";
import { concurrency } from "./option-checks.ts";
import { readSecret } from "./standard-webhooks.ts";

export interface WebhookEndpoint {
  readonly url: string;
  /** `whsec_…`; several while one replaces another: each signs. Default: the publisher's. */
  readonly secret?: string | readonly string[];
  /** Sent with every request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WebhookPublisherOptions {
  /** Where every event goes. Either this or `endpoints`. */
  readonly endpoint?: string | WebhookEndpoint;
  /** By topic: `order.paid`, `order.*` for all below, `*` for the rest; the closest one counts. Topics without one are rejected. */
  readonly endpoints?: Readonly<Record<string, string | WebhookEndpoint>>;
  readonly secret?: string | readonly string[];
  /** Default `webhook`. */
  readonly name?: string;
  /** For a request, and as long again for a free place at the endpoint. Default 10 000. */
  readonly callTimeoutMs?: number;
  /** Requests at once to one endpoint. Default 16. */
  readonly concurrency?: number;
  /** After so many failures in a row an endpoint is left alone, and tried with one event every `probeMs`. Default 5 and 2 000. */
  readonly circuit?: { readonly openAfter?: number; readonly probeMs?: number };
  /** The longest `Retry-After` that is believed. Default one hour. */
  readonly retryAfterMsMax?: number;
  /** How much of an answer's body is read, and thrown away, to keep the connection. Default 65 536. */
  readonly responseBytesMax?: number;
  readonly userAgent?: string;
  /** Default the global one. It must not follow redirections when called with `redirect: "manual"`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Plain http also beyond the own machine: every machine in between can read events. Default off. */
  readonly allowHttp?: boolean;
  readonly environment?: Environment;
}

export interface ResolvedEndpoint {
  readonly pattern: string;
  readonly url: string;
  /** For messages and metrics: paths and queries may hold secrets. */
  readonly label: string;
  readonly secrets: readonly Uint8Array[];
  readonly headers: Readonly<Record<string, string>>;
}

const hourMs = 3_600_000;
const endpointsMax = 1_000;
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

const optionTable = {
  endpoint: given<WebhookPublisherOptions["endpoint"]>(),
  endpoints: given<WebhookPublisherOptions["endpoints"]>(),
  secret: given<WebhookPublisherOptions["secret"]>(),
  name: given("webhook"),
  callTimeoutMs: integer(10, 300_000, 10_000),
  concurrency,
  circuit: circuitOf,
  retryAfterMsMax: integer(0, 24 * hourMs, hourMs),
  responseBytesMax: integer(0, 16_777_216, 65_536),
  userAgent: given("ichido-webhook/1"),
  fetch: given<WebhookPublisherOptions["fetch"]>(),
  allowHttp: given(false),
  environment,
};

export interface ResolvedWebhook
  extends
    Omit<ReadBy<typeof optionTable>, "endpoint" | "endpoints" | "secret" | "circuit" | "fetch">,
    ReturnType<typeof circuitOf> {
  readonly endpoints: readonly ResolvedEndpoint[];
  readonly fetch: typeof globalThis.fetch;
}

export function resolveWebhook(options: WebhookPublisherOptions): ResolvedWebhook {
  const { endpoint, endpoints, circuit, ...rest } = readOptions("webhookPublisher", options, optionTable);
  if ((endpoint === undefined) === (endpoints === undefined))
    throw optionInvalid("endpoint", "an address here or in endpoints, and not both", endpoint);
  const byPattern = Object.entries(endpoints ?? { "*": endpoint ?? "" });
  if (byPattern.length === 0 || byPattern.length > endpointsMax)
    throw optionInvalid("endpoints", `1 to ${endpointsMax} endpoints`, byPattern.length);
  return {
    ...rest,
    ...circuit,
    endpoints: byPattern.map(([pattern, each]) => endpointOf(pattern, each, rest)),
    fetch: rest.fetch ?? globalThis.fetch,
  };
}

function circuitOf(option: string, value: unknown): { readonly openAfter: number; readonly probeMs: number } {
  const circuit = (value ?? {}) as NonNullable<WebhookPublisherOptions["circuit"]>;
  knownOptions(option, circuit, { openAfter: true, probeMs: true });
  return {
    openAfter: integerOption("circuit.openAfter", circuit.openAfter ?? 5, 1, 1_000),
    probeMs: integerOption("circuit.probeMs", circuit.probeMs ?? 2_000, 10, hourMs),
  };
}

function endpointOf(
  pattern: string,
  given: string | WebhookEndpoint,
  { secret: shared, allowHttp }: Pick<ReadBy<typeof optionTable>, "secret" | "allowHttp">,
): ResolvedEndpoint {
  topicPattern("endpoints", pattern);
  const endpoint = typeof given === "string" ? { url: given } : given;
  const where = `endpoints["${pattern}"]`;
  knownOptions<WebhookEndpoint>(where, endpoint, { url: true, secret: true, headers: true });
  const url = URL.canParse(endpoint.url) ? new URL(endpoint.url) : undefined;
  const refuse = (why: string): IchidoError => new IchidoError("option-invalid", `option ${where}.url: it ${why}`);
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw refuse("must be an absolute https address");
  if (url.protocol === "http:" && !allowHttp && !loopback.test(url.hostname))
    throw refuse(
      "must be https: over http anybody in between reads the events (allowHttp: true takes it all the same)",
    );
  if (url.username !== "" || url.password !== "")
    throw refuse("must not hold a name or password; use headers.authorization");
  const secrets = [endpoint.secret ?? shared ?? []].flat();
  if (secrets.length === 0)
    throw optionInvalid(`${where}.secret`, "a secret here, or one for all as secret", undefined);
  return {
    pattern,
    url: url.href,
    label: pattern === "*" ? url.host : `${url.host} (${pattern})`,
    secrets: secrets.map((secret) => readSecret(secret, `webhookPublisher: ${where}.secret`)),
    headers: headersFor(where, endpoint.headers ?? {}),
  };
}

function headersFor(where: string, headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    throw optionInvalid(`${where}.headers`, "what headers can be", headers);
  }
}
