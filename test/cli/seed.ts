/** Records of every state, made by a real engine on a real store. */
import { createIchido } from "ichido";
import { openAddress, type Tables } from "../../packages/ichido/src/cli/store-address.ts";
import { randomUUID } from "node:crypto";

export interface Seeded {
  /** A key each; none may be seen without `--reveal`. */
  readonly paid: string;
  readonly stuck: string;
  readonly lost: string;
  readonly failed: string;
  readonly running: string;
  readonly secrets: readonly string[];
  /** Asks again with a key, as its caller would. */
  again(key: string): Promise<unknown>;
  close(): Promise<void>;
}

const scope = { tenant: "acme", principal: "cus_42" };
const operation = "payment.create";

export async function seed(address: string, tables: Tables = {}): Promise<Seeded> {
  const { store, close } = await openAddress(address, tables, process.cwd(), false);
  const ichido = createIchido({
    store,
    scope: () => scope,
    onUnknown: "hold",
    release: "v1",
    attemptLog: { flushMs: 20 },
  });
  const key = (): string => `canary-${randomUUID()}`;
  const keys = { paid: key(), stuck: key(), lost: key(), failed: key(), running: key() };
  const secret = `secret-${randomUUID()}`;
  const labels = { customer: "42", order: "o9" };
  const request = (name: string, more: object = {}) => ({
    operation,
    scope,
    key: name,
    input: { name },
    labels,
    ...more,
  });
  await ichido.run(request(keys.paid), (ctx) => {
    ctx.resource("payment", "pay_9");
    return { secret };
  });
  await ichido.run(request(keys.paid), () => undefined);
  for (const name of [keys.stuck, keys.lost]) {
    await ichido
      .run(request(name), (ctx) =>
        ctx.step("bank.charge", () => {
          throw new Error(`no answer for ${name} ${secret}`);
        }),
      )
      .catch(() => undefined);
  }
  await ichido
    .run(request(keys.failed, { onUnknown: "rerun" }), () => Promise.reject(new Error(secret)))
    .catch(() => undefined);
  let end: () => void = () => undefined;
  const running = ichido.run(request(keys.running), () => new Promise<void>((resolve) => (end = resolve)));
  // The attempt log is written beside the requests.
  await until(async () => (await store.follow({ limit: 10 })).entries.length >= 5);
  await until(async () => (await store.list({ key: keys.running, limit: 1 })).records.length === 1);
  return {
    ...keys,
    secrets: [...Object.values(keys), secret],
    again: (name) => ichido.run(request(name), () => "ran again").then(({ value }) => value),
    async close() {
      end();
      await running;
      await ichido.close();
      await store.close();
      await close();
    },
  };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("it never came");
}
