/** The gateway port spoken in the protocol of the bank in `src/bank`. */
import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf, StartError } from "../errors.ts";
import type { FindRefundOutcome, PaymentGateway, RefundOutcome } from "./payment-gateway.ts";

export interface BankGatewayOptions {
  readonly url: string;
  readonly timeoutMs: number;
}

type Reply =
  | { readonly kind: "answered"; readonly status: number; readonly body: Readonly<Record<string, unknown>> }
  | { readonly kind: "lost" }
  | { readonly kind: "unreachable" };

/** Failures before the connection stood: the bank cannot have seen the order. */
const NEVER_SENT: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

const PAYMENT_REQUIRED = 402;
const CONFLICT = 409;

export function bankGateway({ url, timeoutMs }: BankGatewayOptions): PaymentGateway {
  async function ask(path: string, signal: AbortSignal, order?: unknown): Promise<Reply> {
    const limits = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const response = await fetch(`${url}${path}`, {
        signal: limits,
        redirect: "error",
        ...(order === undefined
          ? {}
          : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(order) }),
      });
      const body = (await response.json()) as Readonly<Record<string, unknown>>;
      return { kind: "answered", status: response.status, body };
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { readonly code?: unknown };
      return { kind: NEVER_SENT.has(code) ? "unreachable" : "lost" };
    }
  }

  async function findRefund(reference: string, signal: AbortSignal): Promise<FindRefundOutcome> {
    const reply = await ask(`/refunds?reference=${encodeURIComponent(reference)}`, signal);
    // An older bank has no such look-up: better to say that it cannot be asked than that nothing was given back.
    if (reply.kind !== "answered" || reply.status !== 200) return { outcome: "unreachable" };
    const { refunds, declines } = reply.body as { readonly refunds: unknown[]; readonly declines: unknown[] };
    const [refund] = refunds;
    if (refund !== undefined) return { outcome: "refunded", refundId: (refund as { refundId: string }).refundId };
    return { outcome: declines.length > 0 ? "declined" : "absent" };
  }

  /** The charge has less left. A bank that forgot the reference says so of a refund that it made itself. */
  async function beyondCharge(reference: string, signal: AbortSignal): Promise<RefundOutcome> {
    const found = await findRefund(reference, signal);
    if (found.outcome === "unreachable") return { outcome: "unknown" };
    return found.outcome === "absent" ? { outcome: "declined" } : found;
  }

  return {
    async charge({ reference, amount, currency }, signal) {
      const reply = await ask("/charges", signal, { reference, amount, currency });
      if (reply.kind === "unreachable") return { outcome: "unreachable" };
      if (reply.kind === "lost" || reply.status >= 500) return { outcome: "unknown" };
      if (reply.status === PAYMENT_REQUIRED) return { outcome: "declined" };
      return { outcome: "captured", chargeId: expectId(reply, "chargeId") };
    },

    async find(reference, signal) {
      const reply = await ask(`/charges?reference=${encodeURIComponent(reference)}`, signal);
      if (reply.kind !== "answered" || reply.status >= 500) return { outcome: "unreachable" };
      const { charges, declines } = reply.body as { readonly charges: unknown[]; readonly declines: unknown[] };
      const [charge] = charges;
      if (charge !== undefined) return { outcome: "captured", chargeId: (charge as { chargeId: string }).chargeId };
      return { outcome: declines.length > 0 ? "declined" : "absent" };
    },

    async refund({ reference, chargeId, amount }, signal) {
      const reply = await ask("/refunds", signal, { reference, chargeId, amount });
      if (reply.kind === "unreachable") return { outcome: "unreachable" };
      if (reply.kind === "lost" || reply.status >= 500) return { outcome: "unknown" };
      if (reply.status === PAYMENT_REQUIRED) return { outcome: "declined" };
      if (reply.status === CONFLICT && reply.body.error === "exceeds-charge") return beyondCharge(reference, signal);
      return { outcome: "refunded", refundId: expectId(reply, "refundId") };
    },

    findRefund,
  };
}

/** The bank refuses orders it cannot understand; such an order is the shop's mistake and must be seen, not guessed at. */
function expectId(reply: Reply & { readonly kind: "answered" }, member: string): string {
  const id = reply.body[member];
  if (reply.status < 300 && typeof id === "string") return id;
  throw new Error(`the bank answered ${reply.status} ${JSON.stringify(reply.body)} to an order`);
}

const LOOK_MS = 5_000;
const LOOK_AGAIN_MS = 250;

/** At start: a bank answers there, perhaps after a moment, because it may be starting too. */
export async function requireBank(url: string): Promise<void> {
  const deadline = performance.now() + LOOK_MS;
  for (;;) {
    const fault = await faultOf(url, AbortSignal.timeout(LOOK_MS));
    if (fault === undefined) return;
    if (performance.now() > deadline) throw new StartError(`cannot use the bank at ${url} (GATEWAY_URL): ${fault}`);
    await sleep(LOOK_AGAIN_MS);
  }
}

async function faultOf(url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/charges?reference=is-anybody-there`, { signal, redirect: "error" });
    const body = (await response.json()) as { readonly charges?: unknown } | null;
    return Array.isArray(body?.charges) ? undefined : "what answers there is not the bank";
  } catch (error) {
    if (error instanceof SyntaxError) return "what answers there is not the bank";
    return signal.aborted ? "it does not answer" : reasonOf(error);
  }
}
