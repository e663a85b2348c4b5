/**
 * Settles payments whose outcome is open (ADR-010) while nobody asks for them. It works from the keys' records: whose
 * answer is missing, and whether an interim answer was given. The record is not claimed meanwhile, so callers go on getting
 * the interim answer; the payment's row keeps two shops from asking the bank at once, and the record's fence keeps a
 * late one from overwriting an answer.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Ichido, StoredRecord, StoredResponse } from "ichido";
import type { Request } from "express";
import { textOf } from "./errors.ts";
import type { Answer } from "./http/answer.ts";
import { settledAnswer } from "./http/payment-answers.ts";
import { isOpen } from "./payments/payment.ts";
import type { PaymentPorts } from "./payments/create-payment.ts";
import { reconcilePayment } from "./payments/reconcile-payment.ts";

export interface ReconcilerOptions {
  readonly ichido: Pick<Ichido<Request>, "store">;
  readonly ports: PaymentPorts;
  readonly operation: string;
  readonly gatewayTimeoutMs: number;
  readonly log: (line: string) => void;
}

const EVERY_MS = 1_000;
/** Outcomes looked into at once, and pages of them in one round; the next round goes on where this one ended. */
const PAGE = 16;
const PAGES_MAX = 8;
/** A shop that died without a word may still be asked for by its caller, who then settles it: no hurry. */
const VANISHED_PAUSE_MS = 15_000;
const INQUIRY_MARGIN_MS = 2_000;

/** Gives back how to stop it. */
export function startReconciler(options: ReconcilerOptions): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let cursor: string | undefined;

  async function round(): Promise<void> {
    for (let page = 0; page < PAGES_MAX && !signal.aborted; page += 1) {
      const found = await options.ichido.store.list({
        operation: options.operation,
        state: "unknown",
        limit: PAGE,
        ...(cursor === undefined ? {} : { cursor }),
      });
      cursor = found.cursor;
      await Promise.all(found.records.map((record) => settle(options, record, signal).catch(note)));
      if (cursor === undefined) return;
    }
  }

  function note(error: unknown): void {
    if (!signal.aborted) options.log(`reconciling failed, and is tried again: ${textOf(error)}`);
  }

  const running = (async () => {
    while (!signal.aborted) {
      await round().catch(note);
      await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  })();

  return async () => {
    stopping.abort();
    await running;
  };
}

async function settle(options: ReconcilerOptions, record: StoredRecord, signal: AbortSignal): Promise<void> {
  const { ports, ichido, gatewayTimeoutMs } = options;
  const { identity, fence, interim, holdReason } = record;
  const { key, tenant = "", principal: user = "" } = identity;
  if (holdReason !== undefined) return;
  const payment = await ports.payments.findByAttempt({ key, fence, tenant, user });
  if (payment === undefined) return;
  const promised = interim !== undefined;
  const settled = isOpen(payment)
    ? await reconcilePayment(ports, payment, {
        // Without an interim answer a retry may take the key over and charge: the bank is asked only.
        mayCharge: promised,
        inquiryMs: 2 * gatewayTimeoutMs + INQUIRY_MARGIN_MS,
        pauseMs: promised ? 0 : VANISHED_PAUSE_MS,
        signal,
      })
    : payment;
  if (settled === undefined) return;
  const response = storedOf(settledAnswer(settled));
  // Any refusal means that the record has moved on: the next round sees what is left to do.
  await ichido.store.settle({
    identity,
    fence,
    decision: { kind: "adopt", response },
    actor: "shop reconciler",
    reason: `the bank answered for payment ${settled.paymentId}`,
  });
}

function storedOf({ status, headers, body }: Answer): StoredResponse {
  return { kind: "full", status, headers: Object.entries(headers), body: Buffer.from(JSON.stringify(body)) };
}
