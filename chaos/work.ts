/** What the handlers do: one effect, by one of the policies, and an answer that names it. */
import { randomBytes, randomUUID } from "node:crypto";
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

export function answerOf(receipt: Omit<Receipt, "made">, paddingBytes = 0): AnswerLike {
  const made = randomUUID();
  // What can be compressed would take no room.
  const padding = paddingBytes === 0 ? {} : { padding: randomBytes(paddingBytes * 0.75).toString("base64") };
  return { status: 201, headers: { "x-made": made }, body: { ...receipt, made, ...padding } satisfies Receipt };
}

/** What a charge tells of the operation that it was made for. */
export function answerByCharge(
  caller: string,
  { id, amount }: { readonly id: string; readonly amount: number },
): AnswerLike {
  return answerOf({ intent: intentOf(amount), caller, effect: id });
}

/** A call that was started may still be travelling: only after a while is its absence a proof. */
async function verifyCharge(
  { banks, slackMs }: Means,
  { reference, ageMs }: { readonly reference: string; readonly ageMs: number },
): Promise<StepVerdict<string>> {
  const found = await findCharge(banks.deaf, reference);
  if (found !== undefined) return { verdict: "found", value: found.id };
  return { verdict: ageMs > travelMsMax(slackMs) ? "absent" : "not-visible-yet" };
}

type Means = Pick<Setup, "banks" | "slackMs">;

/** Handlers of this process that have not come to their end, whether somebody still waits for them or not. */
export const atWork = { count: 0 };

/** Undefined: the transaction has answered. */
export async function work(
  policy: Policy,
  doing: Doing,
  order: Order,
  means: Means & { readonly caller: string },
): Promise<AnswerLike | undefined> {
  atWork.count += 1;
  try {
    return await effectOf(policy, doing, order, means);
  } finally {
    atWork.count -= 1;
  }
}

async function effectOf(
  policy: Policy,
  doing: Doing,
  order: Order,
  means: Means & { readonly caller: string },
): Promise<AnswerLike | undefined> {
  const { banks, caller } = means;
  const { intent, amount } = order;
  await sleep(order.beforeMs);
  const charged = async (id: string): Promise<AnswerLike> => {
    await sleep(order.afterMs);
    return answerOf({ intent, caller, effect: id }, order.paddingBytes);
  };
  switch (policy) {
    case "transaction":
    case "commit":
      await doing.transaction(async (_tx, handle) => {
        const effect = randomUUID();
        await addRow(handle, { intent, effect });
        if (order.insideMs > 0) await sleep(order.insideMs);
        return answerOf({ intent, caller, effect }, order.paddingBytes);
      });
      return undefined;
    case "reference":
      return charged(await doing.step(step, ({ reference }) => charge(banks.honest, reference, amount)));
    case "hold":
      return charged(await doing.step(step, () => charge(banks.deaf, intent, amount)));
    case "verify":
      return charged(
        await doing.step(step, { verify: (asked) => verifyCharge(means, asked) }, ({ reference }) =>
          charge(banks.deaf, reference, amount),
        ),
      );
  }
}
