/**
 * A payment provider with a ledger, over real HTTP, that fails as real ones do. Tests check the ledger: it has what was
 * really charged, whatever the provider answered.
 *
 * `POST /charges` with `Idempotency-Key` (or `reference` in the body) and `{ "amount": 1200, "currency": "EUR" }` →
 * 201. `GET /charges?reference=…` → 200 with the charges under that reference: for callers that lost the answer.
 */
import { knownOptions } from "../core/contract/option-checks.ts";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";

export type ProviderMode =
  | "normal"
  /** Charges, then never answers. */
  | "timeout-but-charge"
  /** Resets the connection without charging. */
  | "drop"
  /** Charges, then resets the connection. */
  | "charge-and-drop"
  /** The provider's own fault: one request, two charges. */
  | "duplicate"
  /** 409, 429 and 500 without charging. */
  | "conflict"
  | "rate-limit"
  | "error"
  /** Charges, then answers 500. */
  | "charge-and-error"
  /** Charges and answers after `slowMs`. */
  | "slow";

export interface Charge {
  readonly id: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly atMs: number;
}

export interface FakeProviderOptions {
  /**
   * Whether it honours references: the same one again gives the first answer instead of a second charge. Default true.
   */
  readonly dedupes?: boolean;
  /** How long it remembers a reference. Default for ever. The ledger is never forgotten. */
  readonly retentionMs?: number;
  readonly slowMs?: number;
  /** Its clock, in milliseconds. Default the wall clock. */
  readonly nowMs?: () => number;
  /** Default: a free port. */
  readonly port?: number;
}

export interface FakeProvider {
  readonly url: string;
  readonly port: number;
  /** For all requests from now on. */
  mode(mode: ProviderMode): void;
  /** For the next requests to `POST /charges`, before the mode applies again. */
  next(mode: ProviderMode, times?: number): void;
  ledger(): readonly Charge[];
  /** Charges under a reference. */
  count(reference: string): number;
  /** Money taken in all, in minor units. */
  total(): number;
  /** Requests to `POST /charges`, charged or not, under a reference or in all. */
  requests(reference?: string): number;
  close(): Promise<void>;
}

interface Remembered {
  readonly content: string;
  readonly atMs: number;
  /** Absent while the first request is still at work. */
  answer?: Answer;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const bodyBytesMax = 65_536;

export async function fakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const names = { dedupes: true, retentionMs: true, slowMs: true, nowMs: true, port: true } as const;
  knownOptions("fakeProvider", options, names);
  const { dedupes = true, retentionMs = Number.POSITIVE_INFINITY, slowMs = 200, nowMs = Date.now } = options;
  const ledger: Charge[] = [];
  const asked = new Map<string, number>();
  const memory = new Map<string, Remembered>();
  const upcoming: ProviderMode[] = [];
  let standing: ProviderMode = "normal";

  function charge(request: ChargeRequest): Charge {
    const entry = { id: `ch_${ledger.length + 1}`, ...request, atMs: nowMs() };
    ledger.push(entry);
    return entry;
  }

  function remembered(reference: string): Remembered | undefined {
    const known = memory.get(reference);
    if (known === undefined || nowMs() - known.atMs < retentionMs) return known;
    memory.delete(reference);
    return undefined;
  }

  async function take(request: ChargeRequest, response: ServerResponse): Promise<void> {
    asked.set(request.reference, (asked.get(request.reference) ?? 0) + 1);
    const mode = upcoming.shift() ?? standing;
    if (mode === "drop") return reset(response);
    if (mode === "conflict") return answer(response, { status: 409, body: { error: "conflict" } });
    if (mode === "error") return answer(response, { status: 500, body: { error: "internal" } });
    if (mode === "rate-limit") {
      return answer(response, { status: 429, body: { error: "rate_limited" }, headers: { "retry-after": "1" } });
    }
    const content = JSON.stringify([request.amount, request.currency]);
    const known = dedupes ? remembered(request.reference) : undefined;
    if (known !== undefined && known.content !== content) {
      return answer(response, { status: 422, body: { error: "reference_reused" } });
    }
    if (known !== undefined && known.answer === undefined) {
      return answer(response, { status: 409, body: { error: "in_progress" }, headers: { "retry-after": "1" } });
    }
    const entry: Remembered = known ?? { content, atMs: nowMs() };
    memory.set(request.reference, entry);
    if (mode === "slow") await new Promise((resolve) => setTimeout(resolve, slowMs));
    entry.answer ??= { status: 201, body: charge(request) };
    if (mode === "duplicate") charge(request);
    if (mode === "timeout-but-charge") return undefined;
    if (mode === "charge-and-drop") return reset(response);
    if (mode === "charge-and-error") return answer(response, { status: 500, body: { error: "internal" } });
    return answer(response, entry.answer);
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://provider");
    if (url.pathname !== "/charges") return answer(response, { status: 404, body: { error: "not_found" } });
    if (request.method === "GET") {
      const reference = url.searchParams.get("reference") ?? "";
      return answer(response, { status: 200, body: ledger.filter((entry) => entry.reference === reference) });
    }
    if (request.method !== "POST") return answer(response, { status: 405, body: { error: "method_not_allowed" } });
    const parsed = await readCharge(request);
    if (parsed === undefined) return answer(response, { status: 400, body: { error: "invalid_request" } });
    return take(parsed, response);
  }

  const server = createServer((request, response) => {
    response.on("error", () => {});
    serve(request, response).catch(() => reset(response));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the provider got no port");
  const sumOf = (counts: Iterable<number>): number => [...counts].reduce((sum, count) => sum + count, 0);

  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    mode(mode) {
      standing = mode;
    },
    next(mode, times = 1) {
      for (let count = 0; count < times; count += 1) upcoming.push(mode);
    },
    ledger: () => [...ledger],
    count: (reference) => ledger.filter((entry) => entry.reference === reference).length,
    total: () => sumOf(ledger.map((entry) => entry.amount)),
    requests: (reference) => (reference === undefined ? sumOf(asked.values()) : (asked.get(reference) ?? 0)),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

type ChargeRequest = Pick<Charge, "reference" | "amount" | "currency">;

async function readCharge(request: IncomingMessage): Promise<ChargeRequest | undefined> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > bodyBytesMax) return undefined;
  }
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== "object" || body === null) return undefined;
    const { amount, currency, reference }: Record<string, unknown> = { ...body };
    const header = request.headers["idempotency-key"];
    const named = typeof header === "string" ? header.replace(/^"(.*)"$/, "$1") : reference;
    if (typeof amount !== "number" || !Number.isSafeInteger(amount) || amount <= 0) return undefined;
    if (typeof currency !== "string" || typeof named !== "string" || named === "") return undefined;
    return { reference: named, amount, currency };
  } catch {
    return undefined;
  }
}

function answer(response: ServerResponse, { status, body, headers }: Answer): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}
