/**
 * The buyer, in the page and in the tests alike. In front of the protected lane it is `ichido/client`; in front of the other
 * one a fetch that retries by the same rules, as many apps have one.
 */
import { createClient, retryDefaults, type AttemptStorage, type RetryOptions } from "ichido/client";
import type { LaneName } from "./contract.ts";

export interface Cart {
  readonly run: string;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string;
  readonly customer?: string;
}

export interface Said {
  readonly status: number | undefined;
  readonly paid: boolean;
  readonly replayed: boolean;
  readonly tries: number;
}

export interface BuyerParts {
  /** Where `/payments` of the lane is. */
  readonly baseUrl: string;
  /** Attempts live here: a reload finds them again, another tab shares them. */
  readonly storage: AttemptStorage;
  readonly signal?: AbortSignal;
  readonly onTry?: (tries: number) => void;
}

/** Patient enough to see a killed lane come back and its lease lapse. */
const rules: Required<RetryOptions> = {
  ...retryDefaults,
  triesMax: 30,
  backoffMs: 150,
  backoffMsMax: 1_000,
  budget: 100,
};

export function pay(lane: LaneName, cart: Cart, parts: BuyerParts): Promise<Said> {
  return lane === "protected" ? payWithKey(cart, parts) : payPlainly(cart, parts);
}

async function payWithKey({ run, ...order }: Cart, { baseUrl, storage, signal, onTry }: BuyerParts): Promise<Said> {
  const client = createClient({ baseUrl, storage, retry: rules });
  // Named after what the buyer wants, so that a second click, a reload and another tab have the same key.
  const attempt = await client.createAttempt(`checkout:${order.orderId}`, order);
  onTry?.(1);
  const result = await client.post("/payments", {
    attempt,
    json: order,
    headers: { "playground-run": run },
    ...(signal === undefined ? {} : { signal }),
    onRetry: ({ tries }) => onTry?.(tries + 1),
  });
  const paid = result.kind === "done";
  return {
    status: result.answer?.status,
    paid,
    replayed: result.kind === "done" && result.replayed,
    tries: result.tries,
  };
}

async function payPlainly({ run, ...order }: Cart, { baseUrl, signal, onTry }: BuyerParts): Promise<Said> {
  const startedMs = Date.now();
  let status: number | undefined;
  for (let tries = 1; ; tries += 1) {
    onTry?.(tries);
    try {
      const response = await fetch(`${baseUrl}/payments`, {
        method: "POST",
        headers: { "content-type": "application/json", "playground-run": run },
        body: JSON.stringify(order),
        signal: AbortSignal.any([AbortSignal.timeout(rules.callTimeoutMs), ...(signal === undefined ? [] : [signal])]),
      });
      ({ status } = response);
      await response.text();
      if (status < 500) return { status, paid: status < 300, replayed: false, tries };
    } catch {
      status = undefined;
    }
    const pauseMs = Math.random() * Math.min(rules.backoffMsMax, rules.backoffMs * 2 ** (tries - 1));
    const isLate = Date.now() + pauseMs - startedMs > rules.deadlineMs;
    if (signal?.aborted === true || tries >= rules.triesMax || isLate) {
      return { status, paid: false, replayed: false, tries };
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
