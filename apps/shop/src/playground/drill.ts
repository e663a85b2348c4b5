/** A ticket, as the person on call gets it: an incident that really happened a moment ago, in the protected lane. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { memoryStorage } from "ichido/client";
import { pay, type Cart } from "./buyer.ts";
import { RUN_HEADER } from "./fault-proxy.ts";
import type { World } from "./playground.ts";

export const incidentNames = ["two-keys", "crash-after-charge", "bought-twice"] as const;
export type IncidentName = (typeof incidentNames)[number];

export interface Ticket {
  readonly ticket: string;
  readonly customer: string;
  readonly charges: number;
  readonly atMs: number;
  /** The console of the protected lane, at this very question. */
  readonly consoleUrl: string;
}

export interface Drill {
  readonly ticket: Ticket;
  readonly truth: IncidentName;
}

const AMOUNT = 4_200;
const TICKET_MS = 2_500;

export async function openTicket(world: World, truth: IncidentName): Promise<Drill> {
  const run = `drill-${randomUUID().slice(0, 8)}`;
  const customer = `cus_${Math.floor(Math.random() * 9_000) + 1_000}`;
  const { proxy, process: child } = world.lanes.protected;
  const cart: Cart = { run, orderId: `order-${run}`, amount: AMOUNT, currency: "EUR", customer };
  const buy = (order: Cart) => pay("protected", order, { baseUrl: proxy.url, storage: memoryStorage() });
  // Each call has a storage of its own: a client that makes a key for every click.
  if (truth === "two-keys") {
    await buy(cart);
    await buy(cart);
  }
  if (truth === "bought-twice") {
    await buy(cart);
    await buy({ ...cart, orderId: `${cart.orderId}-again` });
  }
  if (truth === "crash-after-charge") {
    await child.killAt("after-charge");
    const { run: _run, ...order } = cart;
    await fetch(`${proxy.url}/payments`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": randomUUID(), [RUN_HEADER]: run },
      body: JSON.stringify(order),
    }).catch(() => undefined);
  }
  await child.up();
  // A ticket comes later than what it is about: by then the lease has lapsed, and the attempt log is written.
  await sleep(TICKET_MS);
  const consoleUrl = `http://127.0.0.1:${child.port}/console/#/ask?text=customer%3D${customer}`;
  const charges = await chargesOf(world, run);
  return { truth, ticket: { ticket: run, customer, charges, atMs: Date.now(), consoleUrl } };
}

async function chargesOf(world: World, run: string): Promise<number> {
  const asked = new Set(world.log.of(run).map(({ reference }) => reference));
  return (await world.charges()).filter(({ reference }) => asked.has(reference)).length;
}
