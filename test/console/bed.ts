/** An engine, an outbox and an inbox with something of everything that a console shows, on a real database. */
import { randomUUID } from "node:crypto";
import { createIchido, type Ichido } from "ichido";
import { createConsumer, createInbox, type Inbox } from "ichido/inbox";
import { createOutbox, createRelay, type Outbox } from "ichido/outbox";
import { openAddress } from "../../packages/ichido/src/cli/store-address.ts";
import { message } from "../events/inbox-messages.ts";
import { testBroker } from "../events/inbox-broker.ts";
import { rejected, wire } from "../events/outbox-bed.ts";
import { eventually } from "../support/eventually.ts";

export const markup = `<img src=x onerror="alert(1)"></script><script>alert(2)</script>`;
export const secret = "a secret of the console's tests, long enough";
const scope = { tenant: "acme", principal: "cus_42" };
const operation = "payment.create";

export interface Bed {
  readonly ichido: Ichido;
  readonly outbox: Outbox<never>;
  readonly inbox: Inbox<never>;
  /** Keys in clear, none of which may be seen before it is revealed. */
  readonly keys: Readonly<Record<"paid" | "twin" | "stuck" | "lost" | "failed" | "running", string>>;
  /** What was answered, and what events carry. */
  readonly contents: readonly string[];
  /** What the bank says when it is asked. */
  charges: readonly { readonly id: string; readonly amount: number }[];
  /** A new record in doubt, for a test that settles it. */
  stuckKey(): Promise<string>;
  /** A completed one, for a test that forgets it. */
  paidKey(): Promise<string>;
  /** Dead letters of both sides, one each. */
  giveUp(): Promise<void>;
  close(): Promise<void>;
}

export async function openBed(address: string): Promise<Bed> {
  const { store, transactions, close } = await openAddress(address, {}, process.cwd(), true);
  if (transactions === undefined) throw new Error("this database has no events");
  await (store as unknown as { migrate(): Promise<unknown> }).migrate();
  const answer = `answer-${randomUUID()} ${markup}`;
  const payload = `payload-${randomUUID()} ${markup}`;
  const bed: { charges: Bed["charges"] } = { charges: [] };
  const ichido = createIchido({
    store,
    scope: () => scope,
    onUnknown: "hold",
    operationIdSecret: secret,
    consoleUrl: "https://ops.example/console",
    attemptLog: { flushMs: 20 },
    probes: { "bank.charge": () => bed.charges },
  });
  const outbox = createOutbox({ transactions, source: "/shop", topics: { "order.*": { to: "wire", attemptsMax: 1 } } });
  const inbox = createInbox({ transactions, retentionMs: 14 * 86_400_000 });
  await outbox.migrate();
  await inbox.migrate();

  const labels = { customer: "42", note: markup };
  const newKey = (): string => `canary-${randomUUID()}`;
  const run = (key: string, fn: Parameters<Ichido["run"]>[1], more: object = {}) =>
    ichido.run({ operation, scope, key, input: { key }, labels, ...more }, fn);
  const stuckKey = async (key = newKey()): Promise<string> => {
    const charge = (): never => {
      throw new Error(`no answer for ${key}`);
    };
    await run(key, (ctx) => ctx.step("bank.charge", charge)).catch(() => undefined);
    return key;
  };
  const paidKey = async (key = newKey(), input: object = { key }): Promise<string> => {
    const pay: Parameters<Ichido["run"]>[1] = (ctx) => {
      ctx.resource("payment", `pay_${key.slice(-6)}`);
      return { answer };
    };
    await run(key, pay, { input });
    return key;
  };
  const keys = { paid: newKey(), twin: newKey(), stuck: "", lost: "", failed: newKey(), running: newKey() };
  await paidKey(keys.paid, { same: true });
  await paidKey(keys.twin, { same: true });
  await run(keys.paid, () => undefined, { input: { same: true } });
  keys.stuck = await stuckKey();
  keys.lost = await stuckKey();
  await run(keys.failed, () => Promise.reject(new Error("no")), { onUnknown: "rerun" }).catch(() => undefined);
  let end: () => void = () => undefined;
  const running = run(keys.running, () => new Promise<void>((resolve) => (end = resolve)));

  const broker = wire(() => rejected(`refused ${markup}\n${payload}`));
  const relay = createRelay(outbox, { routes: { wire: broker }, backoffMs: 1, backoffMsMax: 1 });
  const delivering = testBroker();
  const consumer = createConsumer({
    subscription: delivering.subscription,
    inbox,
    handlers: [{ name: "mailer", topics: ["order.*"], once: () => Promise.reject(new Error(`no mail ${markup}`)) }],
    attemptsMax: 1,
    backoffMs: 1,
  });
  await consumer.start();
  const giveUp = async (): Promise<void> => {
    const before = (await outbox.stats()).dead;
    await outbox.transaction((_tx, handle) => outbox.add(handle, { topic: "order.paid", payload: { payload } }));
    await eventually(async () => {
      await relay.tick();
      if ((await outbox.stats()).dead === before) throw new Error("not yet");
    }, 30_000);
    await delivering.deliver(message({ topic: "order.paid", payload: { payload } }));
  };
  await giveUp();
  await eventually(async () => {
    const { entries } = await store.follow({ limit: 100 });
    if (entries.length < 6) throw new Error("the attempt log is not written yet");
  }, 30_000);
  return Object.assign(bed, {
    ichido,
    outbox: outbox as Outbox<never>,
    inbox: inbox as Inbox<never>,
    keys,
    contents: [answer, payload],
    stuckKey: () => stuckKey(),
    paidKey: () => paidKey(),
    giveUp,
    async close() {
      end();
      await running;
      await relay.stop();
      await consumer.stop();
      await ichido.close();
      await store.close();
      await close();
    },
  });
}
