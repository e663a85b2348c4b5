/** Eight kinds of incidents among ordinary payments and honest repeats. Each ticket says what a person on call would have. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Question, VerdictKind } from "ichido/operations";
import { ORDER_PAID } from "../src/events/order-events.ts";
import { tokenOf, type Bed } from "./bed.ts";

export interface Ticket {
  readonly kind: string;
  readonly question: Question;
  readonly expected: VerdictKind;
  /** Names its charges in the bank's ledger: every ticket has an amount of its own. */
  readonly amount: number;
  /** What has to be given back, by the bank's ids; absent: nothing. */
  readonly refund?: readonly string[];
  /** The provider cannot be asked. */
  readonly blind?: boolean;
}

export interface SeedOptions {
  readonly ordinary: number;
  readonly repeats: number;
  /** Of each kind of incident. */
  readonly each: number;
}

export const customersFor = ({ ordinary, repeats, each }: SeedOptions): readonly string[] =>
  Array.from({ length: ordinary + repeats + 8 * each }, (_, at) => `cus_${at}`);

const WIDTH = 12;
const LEASE_PAST_MS = 90_000;
const LOOK_BACK_MS = 600_000;
const LOG_PAGE = 1_000;
const RETRY_ABOVE_MS = 33_000;
const WAIT_MS = 20_000;

interface Payment {
  readonly customer: string;
  readonly booking: string;
  readonly amount: number;
  readonly key?: string;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await sleep(5);
  }
}

async function pay(url: string, { customer, booking, amount, key = randomUUID() }: Payment): Promise<Response> {
  return fetch(`${url}/payments`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${tokenOf(customer)}`,
      "idempotency-key": key,
      "content-type": "application/json",
    },
    body: JSON.stringify({ bookingId: booking, amount, currency: "EUR" }),
  });
}

async function paid(bed: Bed, payment: Payment): Promise<void> {
  const { status } = await pay(bed.url, payment);
  if (status !== 201 && status !== 200) throw new Error(`a payment was answered with ${status}`);
}

async function fault(bed: Bed, setting: Readonly<Record<string, unknown>>): Promise<void> {
  const headers = { "content-type": "application/json" };
  const { status } = await fetch(`${bed.bankUrl}/faults`, { method: "POST", headers, body: JSON.stringify(setting) });
  if (status !== 204) throw new Error(`the bank refused the fault: ${status}`);
}

export interface LedgerCharge {
  readonly chargeId: string;
  readonly reference: string;
  readonly amount: number;
}

export async function ledgerOf(bed: Bed): Promise<readonly LedgerCharge[]> {
  const { charges } = (await (await fetch(`${bed.bankUrl}/ledger`)).json()) as { readonly charges: LedgerCharge[] };
  return charges;
}

/** The bank's ids of all charges of a ticket, in their order. */
async function chargesOf(bed: Bed, amount: number): Promise<readonly string[]> {
  const charges = (await ledgerOf(bed)).filter((charge) => charge.amount === amount);
  return charges.map(({ chargeId }) => chargeId);
}

/** The attempt log tells which keys stand for one intent: it must have been written before the clock is moved. */
/** By the log itself: a record tells of its first run before the log has it, and the log is what a time is looked up in. */
async function logged(bed: Bed, booking: string, count: number): Promise<void> {
  await until("the attempt log has it", async () => {
    const { records } = await bed.store.list({ label: { name: "booking", value: booking }, limit: 10 });
    const keys = new Set<string>(records.map(({ identity }) => identity.key));
    const noted = new Set<string>();
    let cursor: string | undefined;
    for (let left = true; left;) {
      const from = cursor === undefined ? { fromAgoMs: LOOK_BACK_MS } : { cursor };
      const page = await bed.store.follow({ limit: LOG_PAGE, ...from });
      for (const { record } of page.entries) if (keys.has(record.key)) noted.add(record.key);
      left = page.entries.length === LOG_PAGE && page.cursor !== undefined;
      ({ cursor } = page);
    }
    return noted.size >= count;
  });
}

async function ordinary(bed: Bed, customers: readonly string[], repeats: number): Promise<readonly Ticket[]> {
  const queue = customers.map((customer, at) => ({ customer, booking: `bk_${customer}`, amount: 100_000 + at, at }));
  const tickets: Ticket[] = [];
  const work = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const key = randomUUID();
      const isRepeated = next.at < repeats;
      await paid(bed, { ...next, key });
      if (isRepeated) await paid(bed, { ...next, key });
      const texts = [next.customer, next.booking, key];
      const question = { text: texts[next.at % texts.length] ?? key };
      const kind = isRepeated ? "honest repeat" : "ordinary";
      tickets.push({ kind, question, expected: "one-effect", amount: next.amount });
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
  return tickets;
}

async function twoKeys(bed: Bed, payment: Payment): Promise<Ticket> {
  await paid(bed, payment);
  await paid(bed, payment);
  await logged(bed, payment.booking, 2);
  return {
    kind: "two keys for one intent",
    question: { text: payment.customer },
    expected: "two-keys-one-intent",
    amount: payment.amount,
    refund: (await chargesOf(bed, payment.amount)).slice(1),
  };
}

/** An honest book, and a pen under two keys: the pen alone was charged twice, whichever was bought first. */
async function mixedCustomer(bed: Bed, payment: Payment, order: readonly ("book" | "pen")[]): Promise<Ticket> {
  for (const thing of order) await paid(bed, { ...payment, booking: `${payment.booking}-${thing}` });
  const second = order.lastIndexOf("pen");
  return {
    kind: `mixed customer, ${order[0]} first`,
    question: { text: payment.customer },
    expected: "two-keys-one-intent",
    amount: payment.amount,
    refund: (await chargesOf(bed, payment.amount)).slice(second, second + 1),
  };
}

const bookFirst = (bed: Bed, payment: Payment): Promise<Ticket> => mixedCustomer(bed, payment, ["book", "pen", "pen"]);
const penFirst = (bed: Bed, payment: Payment): Promise<Ticket> => mixedCustomer(bed, payment, ["pen", "pen", "book"]);

async function retryAbove(bed: Bed, payment: Payment): Promise<Ticket> {
  const atMs = bed.nowMs();
  await paid(bed, payment);
  await logged(bed, payment.booking, 1);
  await bed.pass(RETRY_ABOVE_MS);
  await paid(bed, payment);
  await logged(bed, payment.booking, 2);
  const question = { amount: payment.amount, atMs, withinMs: 60_000 };
  return {
    kind: "retry above the tool 33 s later",
    question,
    expected: "two-keys-one-intent",
    amount: payment.amount,
    refund: (await chargesOf(bed, payment.amount)).slice(1),
  };
}

async function boughtTwice(bed: Bed, payment: Payment): Promise<Ticket> {
  await paid(bed, payment);
  await paid(bed, { ...payment, booking: `${payment.booking}-again` });
  return {
    kind: "customer bought twice",
    question: { text: `customer=${payment.customer}` },
    expected: "two-intents",
    amount: payment.amount,
  };
}

/** The order reaches the bank a second time, as a proxy on the way may send it, and the bank takes it for a new one. */
async function ignoredReference(bed: Bed, payment: Payment): Promise<Ticket> {
  await paid(bed, payment);
  const [charge] = (await ledgerOf(bed)).filter(({ amount }) => amount === payment.amount);
  await fault(bed, { mode: "ignore-references", calls: 1 });
  const body = JSON.stringify({ reference: charge?.reference, amount: payment.amount, currency: "EUR" });
  await fetch(`${bed.bankUrl}/charges`, { method: "POST", headers: { "content-type": "application/json" }, body });
  return {
    kind: "provider ignored the reference",
    question: { text: payment.booking },
    expected: "two-effects-one-key",
    amount: payment.amount,
    refund: (await chargesOf(bed, payment.amount)).slice(1),
  };
}

/** The bank charges, the connection breaks, and then the bank cannot be asked. */
async function probeDown(bed: Bed, payment: Payment): Promise<Ticket> {
  const key = randomUUID();
  await fault(bed, { mode: "drop-connection", calls: 1 });
  const { status } = await pay(bed.url, { ...payment, key });
  if (status !== 202) throw new Error(`an open payment was answered with ${status}`);
  return { kind: "probe down", question: { text: key }, expected: "not-known", amount: payment.amount, blind: true };
}

/** All at once in one shop, which is killed when the bank has charged and not answered. */
async function crashes(bed: Bed, payments: readonly Payment[]): Promise<readonly Ticket[]> {
  const other = await bed.startOther();
  await fault(bed, { mode: "timeout-but-charge", calls: payments.length, delayMs: 60_000 });
  const open = payments.map((payment) => pay(other.url, payment).catch(() => undefined));
  const amounts = new Set(payments.map(({ amount }) => amount));
  const ours = async () => (await ledgerOf(bed)).filter(({ amount }) => amounts.has(amount));
  await until("the bank has charged", async () => (await ours()).length === payments.length);
  await other.kill();
  await Promise.all(open);
  await bed.pass(LEASE_PAST_MS);
  return (await ours()).map(({ chargeId, amount }) => ({
    kind: "crash after charge",
    question: { text: chargeId },
    expected: "orphan-effect",
    amount,
  }));
}

/** The same event through the broker, twice. */
async function eventTwice(bed: Bed, orderId: string, amount: number): Promise<Ticket> {
  const id = randomUUID();
  const payload = { tenant: "acme", orderId, productId: "coffee", quantity: 1, amount, currency: "EUR" };
  const message = {
    id,
    topic: ORDER_PAID,
    key: `acme/${orderId}`,
    source: "/shop/incidents",
    time: new Date().toISOString(),
    contentType: "application/json",
    payload: Buffer.from(JSON.stringify(payload)),
    headers: {},
  };
  for (let times = 0; times < 2; times += 1) await bed.publisher.publish(message as never);
  await until("the event was processed", async () => {
    const entries = await bed.inbox.find(id);
    return entries.length === 2 && entries.every(({ outcome }) => outcome === "processed");
  });
  return { kind: "event sent twice", question: { text: id }, expected: "event-once", amount };
}

export async function seed(bed: Bed, options: SeedOptions): Promise<readonly Ticket[]> {
  const customers = [...customersFor(options)];
  const take = (count: number): string[] => customers.splice(0, count);
  const tickets: Ticket[] = [...(await ordinary(bed, take(options.ordinary + options.repeats), options.repeats))];
  let amount = 900_000;
  const payments = (): readonly Payment[] =>
    take(options.each).map((customer) => ({ customer, booking: `bk_${customer}`, amount: (amount += 1) }));
  for (const incident of [twoKeys, bookFirst, penFirst, boughtTwice, ignoredReference, probeDown, retryAbove]) {
    for (const payment of payments()) tickets.push(await incident(bed, payment));
  }
  tickets.push(...(await crashes(bed, payments())));
  for (let at = 0; at < options.each; at += 1) tickets.push(await eventTwice(bed, `order-${at}`, (amount += 1)));
  return tickets;
}
