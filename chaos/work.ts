/** What the handlers do: one effect, by one of the policies, and an answer that names it. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../packages/ichido/src/core/contract/context.ts";
import type { AnswerLike, StepVerdict } from "../packages/ichido/src/core/contract/options.ts";
import { charge, findCharge } from "./bank.ts";
import { intentOf, type Order, type Policy, type Receipt } from "./policies.ts";
import { travelMsMax } from "./settings.ts";
import type { Setup } from "./setup.ts";
import { addRow } from "./sides/side.ts";

/** As much of a context as the handlers need: whoever does without ichido makes one up. */
export type Doing = Pick<Context, "step" | "transaction">;

/** The name of the step, and so of the reference. */
export const step = "charge";

export function answerOf(receipt: Omit<Receipt, "made">): AnswerLike {
  const made = randomUUID();
  return { status: 201, headers: { "x-made": made }, body: { ...receipt, made } satisfies Receipt };
}

/** What a charge tells of the operation that it was made for. */
export function answerByCharge(
  caller: string,
  { id, amount }: { readonly id: string; readonly amount: number },
): AnswerLike {
  return answerOf({ intent: intentOf(amount), caller, effect: id });
}

/** A call that was started may still be travelling: only after a while is its absence a proof. */
export async function verifyCharge(bankUrl: string, reference: string, ageMs: number): Promise<StepVerdict<string>> {
  const found = await findCharge(bankUrl, reference);
  if (found !== undefined) return { verdict: "found", value: found.id };
  return { verdict: ageMs > travelMsMax ? "absent" : "not-visible-yet" };
}

/** Undefined: the transaction has answered. */
export async function work(
  policy: Policy,
  doing: Doing,
  order: Order,
  { banks, caller }: Pick<Setup, "banks"> & { readonly caller: string },
): Promise<AnswerLike | undefined> {
  const { intent, amount } = order;
  await sleep(order.beforeMs);
  const charged = async (id: string): Promise<AnswerLike> => {
    await sleep(order.afterMs);
    return answerOf({ intent, caller, effect: id });
  };
  switch (policy) {
    case "transaction":
    case "commit":
      await doing.transaction(async (_tx, handle) => {
        const effect = randomUUID();
        await addRow(handle, { intent, effect });
        if (order.insideMs > 0) await sleep(order.insideMs);
        return answerOf({ intent, caller, effect });
      });
      return undefined;
    case "reference":
      return charged(await doing.step(step, ({ reference }) => charge(banks.honest, reference, amount)));
    case "hold":
      return charged(await doing.step(step, () => charge(banks.deaf, intent, amount)));
    case "verify": {
      const verify = (asked: { readonly reference: string; readonly ageMs: number }): Promise<StepVerdict<string>> =>
        verifyCharge(banks.deaf, asked.reference, asked.ageMs);
      return charged(await doing.step(step, { verify }, ({ reference }) => charge(banks.deaf, reference, amount)));
    }
  }
}
