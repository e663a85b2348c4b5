/** Callers who ask for the same kind of operation, each under keys of their own choice. */
import type { Decision } from "../../packages/ichido/src/core/contract/decision.ts";
import type { NeutralRequest } from "../../packages/ichido/src/core/contract/message.ts";
import type { Ichido } from "../../packages/ichido/src/core/engine/create-ichido.ts";
import { must } from "./target.ts";

export interface Caller {
  readonly principal: string;
}

type Granted = Extract<Decision, { readonly kind: "execute" }>;

/** In which a key can be found. */
export const states = ["running", "completed", "failed", "unknown"] as const;

export function ask(ichido: Ichido<Caller>, principal: string, key: string): Promise<Decision> {
  const bytes = Buffer.from('{"amount":100}');
  const request: NeutralRequest<Caller> = {
    method: "POST",
    target: "/payments",
    headerLines: (name) => (name === "idempotency-key" ? [key] : name === "content-type" ? ["application/json"] : []),
    body: () => ({ kind: "bytes", bytes }),
    native: { principal },
  };
  return ichido.decide(request, ichido.route({ operation: "payment.create" }));
}

/** A key that somebody has, in this state. */
export async function leave(
  ichido: Ichido<Caller>,
  key: string,
  state: (typeof states)[number],
  body: Uint8Array,
): Promise<Granted["execution"]> {
  const taken = await ask(ichido, "somebody else", key);
  must(taken.kind === "execute", "not a new key", taken.kind);
  const { execution } = taken;
  if (state === "completed") await execution.settle({ kind: "answered", response: { status: 201, headers: [], body } });
  if (state === "failed") await execution.settle({ kind: "threw", error: new Error("failed") });
  if (state === "unknown") {
    await execution.context.unknown({ status: 202, body: "open" });
    await execution.settle({ kind: "threw", error: new Error("open") });
  }
  return execution;
}

export async function giveBack({ execution }: Granted): Promise<void> {
  execution.context.release();
  await execution.settle({ kind: "threw", error: new Error("not run") });
}
