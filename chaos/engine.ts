/** The engine of one process, and the line it prints for each event that a run must have seen. */
import type { IchidoEvent } from "../packages/ichido/src/core/contract/events.ts";
import { systemEnvironment } from "../packages/ichido/src/core/contract/environment.ts";
import type { OnUnknown, RouteOptions } from "../packages/ichido/src/core/contract/options.ts";
import { createIchido, type Ichido } from "../packages/ichido/src/core/engine/create-ichido.ts";
import { faultsFromEnv } from "../packages/ichido/src/testing/faults.ts";
import { findCharge } from "./bank.ts";
import { operationOf, type Order, type Policy } from "./policies.ts";
import { executionMs, leaseMs, storeTimeoutMs, transactionMs } from "./settings.ts";
import type { Setup } from "./setup.ts";
import type { Side } from "./sides/side.ts";
import { answerByCharge, step } from "./work.ts";

/** As much of a request of either framework as the engine is asked about. */
export interface Asked {
  readonly headers: { readonly authorization?: string | undefined };
  readonly body?: unknown;
}

export const callerOf = ({ headers }: Asked): string => headers.authorization ?? "";

/** How far the clock of this process is off. */
export const clock = { offMs: 0 };

const environment = { ...systemEnvironment, wallMs: () => Date.now() + clock.offMs };

/** Failed calls of these verbs leave open whether they took effect, where there is a network between. */
const writes = ["claim", "complete", "release", "suspend", "startStep", "finishStep"];

export function note(event: IchidoEvent): void {
  switch (event.type) {
    case "takeover":
    case "lease-lost":
    case "fence-rejected":
    case "not-stored":
      return console.log(`saw ${event.type}`);
    case "store-call":
      // The engine asks whether a commit took effect. A completion that failed may never have been sent.
      if (event.verb === "landed") console.log("saw ambiguous-commit");
      else if (event.error !== undefined && writes.includes(event.verb)) console.log("saw failed-write");
      return undefined;
    default:
      return undefined;
  }
}

/** How often each process sweeps, where records expire within the run. */
const sweepMs = 20_000;

export function engineOf<Native extends Asked>(
  side: Side,
  { retentionMs }: Pick<Setup, "retentionMs">,
): Ichido<Native, unknown> {
  const faults = faultsFromEnv();
  return createIchido<Native, unknown>({
    store: side.store,
    ...(side.runner === undefined ? {} : { transactions: side.runner }),
    scope: (request) => ({ principal: callerOf(request) }),
    onUnknown: "rerun",
    leaseMs,
    storeTimeoutMs,
    executionMs,
    transactionMs,
    verifyMs: 1_500,
    closeMs: 2_000,
    onEvent: note,
    environment,
    ...(retentionMs === undefined ? {} : { retentionMs, sweepMs }),
    ...(faults === undefined ? {} : { faults }),
  });
}

/** The effect is a step, which asks by itself whether it may be made: here is looked for an answer alone. */
function onUnknownOf(policy: Policy, { banks }: Setup): OnUnknown {
  if (policy === "hold") return "hold";
  if (policy !== "verify") return "rerun";
  return {
    async verify({ identity, reference }) {
      const found = await findCharge(banks.deaf, reference(step));
      if (found === undefined) return { verdict: "absent" };
      return { verdict: "found", response: answerByCharge(identity.principal ?? "", found) };
    },
  };
}

export function routeOf<Native extends Asked>(policy: Policy, setup: Setup): RouteOptions<Native> {
  return {
    operation: operationOf(policy),
    mode: policy === "transaction" ? "transaction" : "lease",
    onUnknown: onUnknownOf(policy, setup),
    // Some wait for the answer, some ask again.
    inFlight: policy === "commit" || policy === "verify" ? { waitMs: 600 } : "conflict",
    labels: ({ body }) => ({ intent: (body as Order).intent }),
  };
}
