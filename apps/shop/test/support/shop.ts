/** Shops and banks, and a client that knows only their contract. */
import { randomUUID } from "node:crypto";
import { until } from "./poll.ts";
import { startProgram, type Program, type Settings } from "./program.ts";

export type { Settings };

const node = [process.execPath, "--conditions=ichido-source", "--disable-warning=ExperimentalWarning"];

export interface Shop extends Program {
  readonly url: string;
}

export interface Bank extends Program {
  readonly url: string;
}

export function launchShop(settings: Settings): Program {
  return startProgram([...node, "apps/shop/src/main.ts"], {
    PORT: "0",
    // A PostgreSQL of the playground's own takes its seconds; a test that is about one asks for it.
    PLAYGROUND_STORE: "sqlite",
    ...settings,
  });
}

export async function startShop(settings: Settings): Promise<Shop> {
  const program = launchShop(settings);
  return { ...program, url: await program.line("shop ready ") };
}

export function launchBank(settings: Settings): Program {
  return startProgram([...node, "apps/shop/src/bank/main.ts"], { BANK_PORT: "0", ...settings });
}

export async function startBank(settings: Settings): Promise<Bank> {
  const program = launchBank(settings);
  return { ...program, url: await program.line("bank ready ") };
}

/** The bank that a shop started itself. */
export async function bankOf(shop: Program): Promise<string> {
  return shop.line("bank ready ");
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Sending {
  readonly key?: string;
  readonly token?: string | undefined;
  readonly body?: unknown;
  readonly rawBody?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}

export const booking = { bookingId: "booking-1", amount: 1200, currency: "EUR" } as const;

export async function send(
  url: string,
  { key, token = "demo-1", body, rawBody, headers, method }: Sending = {},
): Promise<Reply> {
  const content = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(url, {
    method: method ?? (content === undefined ? "GET" : "POST"),
    headers: {
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
      ...(content === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(content === undefined ? {} : { body: content }),
  });
  const text = await response.text();
  const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== "" ? JSON.parse(text) : {},
  };
}

export async function pay(shop: { readonly url: string }, sending: Sending = {}): Promise<Reply> {
  return send(`${shop.url}/payments`, { key: randomUUID(), body: booking, ...sending });
}

/** Some key's first request is inside its handler. */
export async function whileRunning(shop: { readonly url: string }): Promise<void> {
  await until("a key is claimed", async () =>
    /\{state="processing"\} [1-9]/.test((await send(`${shop.url}/metrics`)).text),
  );
}

export interface LedgerCharge {
  readonly chargeId: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly at: string;
}

export async function charges(bankUrl: string): Promise<readonly LedgerCharge[]> {
  const { charges: all } = (await (await fetch(`${bankUrl}/ledger`)).json()) as { charges: LedgerCharge[] };
  return all;
}

/** The charges made since the last `mark()`, for tests that share a bank. */
export class LedgerWatch {
  readonly #bankUrl: string;
  #seen = 0;

  constructor(bankUrl: string) {
    this.#bankUrl = bankUrl;
  }

  async mark(): Promise<void> {
    this.#seen = (await charges(this.#bankUrl)).length;
  }

  async charges(): Promise<readonly LedgerCharge[]> {
    return (await charges(this.#bankUrl)).slice(this.#seen);
  }
}

export async function setFault(bankUrl: string, setting: Readonly<Record<string, unknown>>): Promise<void> {
  const { status } = await send(`${bankUrl}/faults`, { body: setting });
  if (status !== 204) throw new Error(`the bank refused the fault: ${status}`);
}
