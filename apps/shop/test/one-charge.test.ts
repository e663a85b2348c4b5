import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { newFolder } from "./support/program.ts";
import { until } from "./support/poll.ts";
import {
  bankOf,
  booking,
  charges,
  pay,
  send,
  setFault,
  startBank,
  startShop,
  type Reply,
  type Shop,
} from "./support/shop.ts";

const KEYS = 200;
const SIMULTANEOUS = 8;
const KEYS_AT_ONCE = 10;

const isFinal = ({ status }: Reply) => status === 200 || status === 201;

/** Sends until the key has its answer, to one shop and then to the other, as a load balancer would. */
/** A process that is stopped in the middle of a write keeps the lock of its SQLite file, and nobody else writes to it. */
function isWritable(file: string): boolean {
  const database = new DatabaseSync(file, { timeout: 1000 });
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch {
    return false;
  } finally {
    database.close();
  }
}

async function payUntilAnswered(
  shops: readonly Shop[],
  key: string,
  first: number,
  note: (event: string) => void,
): Promise<Reply> {
  let turn = first;
  return until(
    `an answer to ${key}`,
    async () => {
      const shop = shops[turn % shops.length] as Shop;
      turn += 1;
      const reply = await pay(shop, { key }).catch(() => undefined);
      if (reply === undefined) note("interrupted");
      else if (isFinal(reply)) return reply;
      else note(`${reply.status} ${String(reply.body.code)}`);
      return undefined;
    },
    60_000,
    50 + Math.random() * 100,
  );
}

/** Every caller of a key got the same payment, at most one as its maker, and the bank charged every key once. */
async function expectOneChargeEach(answers: ReadonlyMap<string, readonly Reply[]>, bankUrl: string): Promise<void> {
  for (const [key, replies] of answers) {
    expect(new Set(replies.map(({ text }) => text)).size, key).toBe(1);
    expect(replies.filter(({ status }) => status === 201).length, key).toBeLessThanOrEqual(1);
  }
  const ledger = await charges(bankUrl);
  expect(new Set(ledger.map(({ reference }) => reference)).size).toBe(answers.size);
  expect(ledger).toHaveLength(answers.size);
}

async function expectPaymentRows(shop: Shop, captured: number): Promise<void> {
  const { text } = await send(`${shop.url}/metrics`);
  const rows = [...text.matchAll(/^shop_payments\{status="(\w+)"\} (\d+)$/gm)].map(([, status, count]) => [
    status,
    count,
  ]);
  expect(rows).toEqual([["captured", String(captured)]]);
}

describe("two shops on one folder", () => {
  it(`A01 C-04 charge each of ${KEYS} keys once under ${SIMULTANEOUS} simultaneous requests per key`, async () => {
    const folder = newFolder();
    const shops = await Promise.all([startShop({ SHOP_DATA: folder }), startShop({ SHOP_DATA: folder })]);
    const answers = new Map<string, readonly Reply[]>();
    const events = new Map<string, number>();
    const note = (event: string) => void events.set(event, (events.get(event) ?? 0) + 1);
    for (let wave = 0; wave < KEYS; wave += KEYS_AT_ONCE) {
      const keys = Array.from({ length: Math.min(KEYS_AT_ONCE, KEYS - wave) }, () => randomUUID());
      await Promise.all(
        keys.map(async (key) => {
          const callers = Array.from({ length: SIMULTANEOUS }, (_, index) => payUntilAnswered(shops, key, index, note));
          answers.set(key, await Promise.all(callers));
        }),
      );
    }
    expect(answers.size).toBe(KEYS);
    expect([...events.keys()].filter((event) => event !== "409 idempotency-in-flight")).toEqual([]);
    await expectOneChargeEach(answers, await bankOf(shops[0]));
    await expectPaymentRows(shops[1], KEYS);
  }, 120_000);

  it(`A04 E-07 E-08 charge each key once while one shop after the other is killed by SIGKILL`, async () => {
    const settings = { SHOP_DATA: newFolder(), IDEMPOTENCY_LEASE_MS: "800", SHOP_HANDLER_DELAY_MS: "100" };
    const shops = await Promise.all([startShop(settings), startShop(settings)]);
    const answers = new Map<string, readonly Reply[]>();
    const events = new Map<string, number>();
    const note = (event: string) => void events.set(event, (events.get(event) ?? 0) + 1);

    const KILLS = 5;
    let kills = 0;
    let ended = false;
    const killer = (async () => {
      while (!ended) {
        await sleep(1_000 + Math.random() * 500);
        const index = kills % 2;
        const victim = shops[index] as Shop;
        victim.kill("SIGKILL");
        kills += 1;
        await victim.exited;
        shops[index] = await startShop(settings);
      }
    })();

    const deadline = Date.now() + 120_000;
    const worker = async (): Promise<void> => {
      while ((answers.size < KEYS || kills < KILLS) && Date.now() < deadline) {
        const key = randomUUID();
        answers.set(key, []);
        const callers = Array.from({ length: SIMULTANEOUS }, (_, index) => payUntilAnswered(shops, key, index, note));
        answers.set(key, await Promise.all(callers));
      }
    };
    try {
      await Promise.all(Array.from({ length: KEYS_AT_ONCE }, worker));
    } finally {
      ended = true;
      await killer;
    }
    expect(answers.size).toBeGreaterThanOrEqual(KEYS);
    expect(kills).toBeGreaterThanOrEqual(KILLS);
    expect(events.get("interrupted"), "a storm that interrupts nobody proves nothing").toBeGreaterThan(0);
    await expectOneChargeEach(answers, await bankOf(shops[0] as Shop));
    await expectPaymentRows(shops[1] as Shop, answers.size);
  }, 180_000);

  it("E-07 kill -9 inside a payment: 409 with Retry-After until the lease ends, then one answer and one charge", async () => {
    const settings = { SHOP_DATA: newFolder(), IDEMPOTENCY_LEASE_MS: "2000" };
    const [slow, quick] = await Promise.all([
      startShop({ ...settings, SHOP_HANDLER_DELAY_MS: "60000" }),
      startShop(settings),
    ]);
    const key = randomUUID();
    const lost = pay(slow, { key }).catch(() => "connection lost");
    await until("the payment is claimed", async () =>
      (await send(`${quick.url}/metrics`)).text.includes('{state="processing"} 1'),
    );
    slow.kill("SIGKILL");
    expect(await lost).toBe("connection lost");

    const refusals: Reply[] = [];
    const answer = await until("the lease ends", async () => {
      const reply = await pay(quick, { key });
      if (isFinal(reply)) return reply;
      refusals.push(reply);
      return undefined;
    });
    expect(refusals.length).toBeGreaterThan(0);
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ status: 409, body: { code: "idempotency-in-flight" } });
      expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    expect(answer.body).toMatchObject({ ...booking, status: "captured" });
    expect((await pay(quick, { key })).text).toBe(answer.text);
    expect(await charges(await bankOf(quick))).toHaveLength(1);
    await expectPaymentRows(quick, 1);
  });

  it("E-08 kill -9 after the charge and before the answer: the next attempt finds the charge and makes no other", async () => {
    const folder = newFolder();
    const bank = await startBank({ BANK_DATA: `${folder}/bank.db` });
    const settings = {
      SHOP_DATA: folder,
      GATEWAY_URL: bank.url,
      IDEMPOTENCY_LEASE_MS: "500",
      GATEWAY_TIMEOUT_MS: "60000",
    };
    const [victim, other] = await Promise.all([startShop(settings), startShop(settings)]);
    await setFault(bank.url, { mode: "timeout-but-charge", calls: 1 });
    const key = randomUUID();
    const lost = pay(victim, { key }).catch(() => "connection lost");
    await until("the charge is made", async () => (await charges(bank.url)).length === 1);
    victim.kill("SIGKILL");
    expect(await lost).toBe("connection lost");
    // A bank that does not honour references would charge again: only asking it first keeps the effect single.
    await setFault(bank.url, { mode: "ignore-references" });
    const answer = await payUntilAnswered([other], key, 0, () => undefined);
    expect(answer.body).toMatchObject({ ...booking, status: "captured" });
    expect(await charges(bank.url)).toHaveLength(1);
    await expectPaymentRows(other, 1);
  });

  it("C-05 a handler three times slower than its lease is never overtaken", async () => {
    const settings = { SHOP_DATA: newFolder(), IDEMPOTENCY_LEASE_MS: "3000", SHOP_HANDLER_DELAY_MS: "9500" };
    const shops = await Promise.all([startShop(settings), startShop(settings)]);
    const key = randomUUID();
    let answered = false;
    const first = pay(shops[0], { key }).finally(() => {
      answered = true;
    });
    await until("the payment is claimed", async () =>
      (await send(`${shops[1].url}/metrics`)).text.includes('{state="processing"} 1'),
    );
    const seen = new Set<string>();
    for (let turn = 0; !answered; turn += 1) {
      const reply = await pay(shops[turn % 2] as Shop, { key });
      if (!answered) seen.add(`${reply.status} ${String(reply.body.code)}`);
      await sleep(50);
    }
    expect([...seen]).toEqual(["409 idempotency-in-flight"]);
    expect(await first).toMatchObject({ status: 201 });
    expect(await charges(await bankOf(shops[0]))).toHaveLength(1);
    await expectPaymentRows(shops[1], 1);
  });

  it("C-05 a shop that froze past its lease cannot charge or answer over its successor", async () => {
    const settings = { SHOP_DATA: newFolder(), IDEMPOTENCY_LEASE_MS: "500" };
    const [frozen, other] = await Promise.all([
      startShop({ ...settings, SHOP_HANDLER_DELAY_MS: "800" }),
      startShop(settings),
    ]);
    let payments = 1;
    const { key, late } = await until("a freeze outside of a write", async () => {
      const key = randomUUID();
      const late = pay(frozen, { key });
      await until("the payment is claimed", async () =>
        (await send(`${other.url}/metrics`)).text.includes('{state="processing"} 1'),
      );
      frozen.kill("SIGSTOP");
      if (isWritable(`${settings.SHOP_DATA}/shop.sqlite`)) return { key, late };
      frozen.kill("SIGCONT");
      await late;
      await payUntilAnswered([other], key, 0, () => undefined);
      payments += 1;
      return undefined;
    });
    const answer = await payUntilAnswered([other], key, 0, () => undefined);
    frozen.kill("SIGCONT");
    const lateReply = await late;
    if (lateReply.status < 300) expect(lateReply.text).toBe(answer.text);
    else expect(lateReply.status).toBeGreaterThanOrEqual(400);
    expect((await pay(other, { key })).text).toBe(answer.text);
    expect(await charges(await bankOf(other))).toHaveLength(payments);
    await expectPaymentRows(other, payments);
  });
});
