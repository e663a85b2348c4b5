/**
 * Events as webhooks: one POST per event, signed by Standard Webhooks, with the event's id as `Idempotency-Key` and its
 * attributes as `ce-` headers. Only a 2xx is taken for having arrived; a lost answer is sent again with the same id.
 */
import { DeadlineExceeded, withDeadline } from "../core/contract/deadline.ts";
import type { Published, Publisher } from "./broker.ts";
import { headersOf } from "./headers.ts";
import type { EventMessage } from "./message.ts";
import { isSignableId, sign } from "./standard-webhooks.ts";
import { verdictOf, type WebhookVerdict } from "./webhook-answer.ts";
import { WebhookCircuit } from "./webhook-circuit.ts";
import {
  resolveWebhook,
  type ResolvedEndpoint,
  type ResolvedWebhook,
  type WebhookPublisherOptions,
} from "./webhook-options.ts";

export type { WebhookEndpoint, WebhookPublisherOptions } from "./webhook-options.ts";

/** They steer the connection, or no request can carry them: an event with one could never be sent. */
const unsendable: ReadonlySet<string> = new Set([
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
]);

interface Outlet {
  readonly endpoint: ResolvedEndpoint;
  readonly circuit: WebhookCircuit;
}

export function webhookPublisher(options: WebhookPublisherOptions): Publisher {
  const settings = resolveWebhook(options);
  // Several topics may share an address: what happens there concerns all of them.
  const circuits = new Map<string, WebhookCircuit>();
  const outlets = new Map<string, Outlet>();
  for (const endpoint of settings.endpoints) {
    const circuit = circuits.get(endpoint.url) ?? new WebhookCircuit(settings);
    circuits.set(endpoint.url, circuit);
    outlets.set(endpoint.pattern, { endpoint, circuit });
  }
  let closed = false;

  async function publish(message: EventMessage): Promise<Published> {
    if (closed) return { outcome: "unavailable", error: new Error(`${settings.name}: the publisher is closed`) };
    const outlet = outletFor(outlets, message.topic);
    if (outlet === undefined) return rejected(settings, `no endpoint takes topic ${message.topic}`);
    const header = Object.keys(message.headers).find((name) => unsendable.has(name));
    if (header !== undefined) return rejected(settings, `header ${header} cannot be sent over HTTP; leave it out`);
    if (!isSignableId(message.id)) return rejected(settings, "an id with a full stop cannot be signed; give another");
    const { endpoint, circuit } = outlet;
    const entrance = circuit.enter();
    if (entrance.open) return down(settings, endpoint, "is left alone after failures", entrance.retryAfterMs);
    if (!(await circuit.place(settings.callTimeoutMs))) {
      circuit.abandoned(entrance.probe);
      return down(settings, endpoint, `had no free place for ${settings.callTimeoutMs} ms`, 0);
    }
    try {
      return outcomeOf(settings, outlet, message, entrance.probe, await post(settings, endpoint, message));
    } finally {
      circuit.leave();
    }
  }

  return {
    name: settings.name,
    publish,
    async close() {
      closed = true;
    },
  };
}

/** The topic itself, then the nearest pattern above it, then the one for all. */
function outletFor(outlets: ReadonlyMap<string, Outlet>, topic: string): Outlet | undefined {
  const exact = outlets.get(topic);
  if (exact !== undefined) return exact;
  for (let end = topic.lastIndexOf("."); end > 0; end = topic.lastIndexOf(".", end - 1)) {
    const outlet = outlets.get(`${topic.slice(0, end)}.*`);
    if (outlet !== undefined) return outlet;
  }
  return outlets.get("*");
}

/** In flight at the receiver, or too early for it: another look soon. */
const laterMs = 1_000;

function outcomeOf(
  settings: ResolvedWebhook,
  { endpoint, circuit }: Outlet,
  message: EventMessage,
  probe: boolean,
  verdict: WebhookVerdict,
): Published {
  if (verdict.kind === "down") {
    const pauseMs = verdict.pauseMs === undefined ? undefined : Math.min(verdict.pauseMs, settings.retryAfterMsMax);
    circuit.failed(probe, pauseMs);
    return down(settings, endpoint, verdict.why, circuit.retryAfterMs);
  }
  circuit.answered(probe);
  if (verdict.kind === "sent") return { outcome: "sent" };
  if (verdict.kind === "refused") return rejected(settings, `${endpoint.label} ${verdict.why}`);
  const error = new Error(`${settings.name}: ${endpoint.label} ${verdict.why}`);
  // The endpoint works: only what shares the key has to wait.
  return { outcome: "later", error, delayMs: laterMs };
}

async function post(
  settings: ResolvedWebhook,
  endpoint: ResolvedEndpoint,
  message: EventMessage,
): Promise<WebhookVerdict> {
  const { environment, callTimeoutMs } = settings;
  const abort = new AbortController();
  let verdict: WebhookVerdict | undefined;
  async function exchange(): Promise<void> {
    const response = await settings.fetch(endpoint.url, {
      method: "POST",
      headers: requestHeaders(settings, endpoint, message),
      body: message.payload as Uint8Array<ArrayBuffer>,
      redirect: "manual",
      signal: abort.signal,
    });
    const { status, headers } = response;
    const answer = { status, location: headers.get("location"), retryAfter: headers.get("retry-after") };
    verdict = verdictOf(answer, environment.wallMs());
    await discard(response, settings.responseBytesMax, abort);
  }
  try {
    await withDeadline(environment, callTimeoutMs, exchange);
  } catch (error) {
    abort.abort();
    verdict ??=
      error instanceof DeadlineExceeded
        ? { kind: "down", why: `gave no answer within ${callTimeoutMs} ms` }
        : { kind: "down", why: `could not be reached, or broke off (${codeOf(error)})` };
  }
  return verdict ?? { kind: "down", why: "gave no answer" };
}

function requestHeaders(
  { userAgent, environment }: ResolvedWebhook,
  endpoint: ResolvedEndpoint,
  message: EventMessage,
): Record<string, string> {
  return {
    ...headersOf(message),
    ...endpoint.headers,
    ...sign(endpoint.secrets, { id: message.id, body: message.payload, nowMs: environment.wallMs() }),
    "idempotency-key": `"${message.id.replace(/["\\]/g, String.raw`\$&`)}"`,
    "user-agent": userAgent,
  };
}

/** The status has said everything: the body is read only so that the connection can be used again. */
async function discard(response: Response, bytesMax: number, abort: AbortController): Promise<void> {
  if (response.body === null) return;
  let bytes = 0;
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length;
      if (bytes > bytesMax) break;
    }
  } catch {
    // Too slow or cut off; what counts was said before.
  }
  if (bytes > bytesMax) abort.abort();
}

function rejected({ name }: ResolvedWebhook, why: string): Published {
  return { outcome: "rejected", error: new Error(`${name}: ${why}`) };
}

function down({ name }: ResolvedWebhook, { label }: ResolvedEndpoint, why: string, retryAfterMs: number): Published {
  const error = new Error(`${name}: ${label} ${why}`);
  return { outcome: "unavailable", error, scope: label, ...(retryAfterMs > 0 ? { retryAfterMs } : {}) };
}

/** The code alone: what else an error says may hold the address. */
function codeOf(error: unknown): string {
  for (let each = error; each instanceof Error; each = each.cause) {
    if ("code" in each && typeof each.code === "string") return each.code;
  }
  return error instanceof Error ? error.name : "unknown";
}
