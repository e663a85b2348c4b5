/** What the handlers do: a row beside the message and now and then an event of their own, or a charge at a bank. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../../packages/ichido/src/core/contract/context.ts";
import type { TransactionHandle } from "../../packages/ichido/src/core/contract/transaction.ts";
import type { EventMessage } from "../../packages/ichido/src/brokers/message.ts";
import { payloadOf } from "../../packages/ichido/src/brokers/message.ts";
import type { Outbox } from "../../packages/ichido/src/outbox/index.ts";
import { charge } from "../bank.ts";
import { weather } from "./life.ts";
import type { EventsSetup } from "./setup.ts";
import { addEvent, addHandled } from "./tables.ts";
import { isSour, type News } from "./topics.ts";
import { newEvent, tellOf } from "./writer.ts";

const failures = 0.8;
const slowMs = 150;
const echoes = 0.25;

/** Fails after the effect: what is rolled back must be gone. */
function turnSour(message: EventMessage): void {
  if (!weather.isCalm && isSour(payloadOf<News>(message)) && Math.random() < failures) throw new Error("sour");
}

export interface Doing {
  readonly outbox: Outbox;
  readonly banks: EventsSetup["banks"];
  /** Whoever dawdles inside a transaction stops all others. */
  readonly isAlone: boolean;
}

export async function addRows(
  { outbox, isAlone }: Doing,
  handle: TransactionHandle,
  message: EventMessage,
): Promise<void> {
  await addHandled(handle, { handler: "rows", id: message.id });
  if (message.topic === "order.placed" && Math.random() < echoes) {
    const echo = newEvent("echo.made", message.key ?? "");
    await addEvent(handle, echo);
    await tellOf(outbox, handle, echo);
  }
  if (!isAlone && Math.random() < 0.1) await sleep(Math.random() * slowMs);
  turnSour(message);
}

export async function chargeHonest(
  { banks }: Doing,
  context: Pick<Context, "step">,
  message: EventMessage,
): Promise<void> {
  const { number } = payloadOf<News>(message);
  if (Math.random() < 0.1) await sleep(Math.random() * slowMs);
  await context.step("charge", ({ reference }) => charge(banks.honest, reference, number));
  turnSour(message);
}

/** The bank keeps the id, and takes every call for a new one. */
export async function chargeDeaf(
  { banks }: Doing,
  context: Pick<Context, "step">,
  message: EventMessage,
): Promise<void> {
  await context.step("charge", () => charge(banks.deaf, message.id, payloadOf<News>(message).number));
}
