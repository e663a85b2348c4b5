/** The shop's engine: whose keys, what is done after a crash, and how the bank is asked. */
import type { Request } from "express";
import { createIchido, type Ichido, type IchidoOptions, type Store } from "ichido";
import type { ShopConfig } from "./config.ts";
import { bankProbe } from "./gateway/bank-probe.ts";
import { caller } from "./http/authentication.ts";
import { CHARGE } from "./http/payment-routes.ts";

export interface ShopEngineOptions extends Pick<
  IchidoOptions<Request>,
  "attemptLog" | "closeMs" | "consoleUrl" | "logger" | "onEvent" | "operationIdSecret" | "tracing"
> {
  readonly config: Pick<ShopConfig, "leaseMs" | "retentionMs" | "sweepMs" | "gatewayTimeoutMs">;
  readonly store: Store;
  readonly gatewayUrl: string;
}

export function shopEngine({ config, store, gatewayUrl, ...given }: ShopEngineOptions): Ichido<Request> {
  const { leaseMs, retentionMs, sweepMs, gatewayTimeoutMs } = config;
  return createIchido<Request>({
    store,
    scope: (request) => ({ tenant: caller(request).tenant, principal: caller(request).user }),
    // Each keyed route says how its outcome is found out; one that forgot would stop rather than take effect twice.
    onUnknown: "hold",
    leaseMs,
    retentionMs,
    sweepMs,
    probes: { [CHARGE]: bankProbe(gatewayUrl, gatewayTimeoutMs) },
    ...given,
  });
}
