/** A call has one time, from the moment of asking: waiting for its turn, for a connection, for a row and for the answer. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Claim, Store } from "ichido";
import { postgresStore } from "ichido/postgres";
import { sampleResponse } from "ichido/testing";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";

const callTimeoutMs = 1_000;
/** What a slow machine may take to notice. */
const slackMs = 200;

describeWith("postgres", "the time of a call", (url) => {
  /** The program's own work has the only two connections. */
  async function starvedLife(lockTimeoutMs = 250) {
    const life = await openLife(url);
    onTestFinished(() => life.end());
    const pool = life.newPool({ max: 2 });
    const store = postgresStore(pool, { callTimeoutMs, lockTimeoutMs });
    onTestFinished(() => store.close());
    const lent = [await pool.connect(), await pool.connect()];
    const free = (): void => lent.splice(0).forEach((client) => client.release());
    onTestFinished(free);
    return { life, store, free };
  }

  /** One after the other: two groups are under way, and the third waits for one of them. */
  async function askThrice(ask: (at: number) => Promise<unknown>): Promise<readonly number[]> {
    const took: Promise<number>[] = [];
    for (let at = 0; at < 3; at += 1) {
      const askedMs = performance.now();
      took.push(
        ask(at).then(
          () => expect.fail("there was no connection"),
          () => performance.now() - askedMs,
        ),
      );
      await sleep(30);
    }
    return Promise.all(took);
  }

  test("S2 a claim that waited for its turn has what is left of its time", async () => {
    const { store } = await starvedLife();
    const took = await askThrice((at) => store.claim(request(`key${at}`, "a")));
    expect(Math.max(...took)).toBeLessThan(callTimeoutMs + slackMs);
  });

  test("S5 a completion that waited for its turn has what is left of its time", async () => {
    const { life, store } = await starvedLife();
    const held: Claim[] = [];
    for (let at = 0; at < 3; at += 1) held.push(await grant(life.store, request(`key${at}`, "a")));
    const complete = (at: number): ReturnType<Store["complete"]> =>
      store.complete({ ...(held[at] ?? expect.fail()), response: sampleResponse() });
    expect(Math.max(...(await askThrice(complete)))).toBeLessThan(callTimeoutMs + slackMs);
  });

  test("S4 a claim that waited for its turn and then meets a locked row is told so in time", async () => {
    const { life, store, free } = await starvedLife(500);
    await grant(life.store, request("locked", "a", { leaseMs: 50 }));
    const client = await life.newPool({ max: 1 }).connect();
    onTestFinished(() => client.release());
    await client.query("begin");
    await client.query("update ichido_records set updated_at = updated_at");
    const first = [0, 1].map(async (at) => {
      await sleep(30 * at);
      return store.claim(request(`key${at}`, "a"));
    });
    await sleep(60);
    const askedMs = performance.now();
    const third = store.claim(request("locked", "b"));
    await sleep(700);
    free();
    expect(await third).toMatchObject({ outcome: "processing" });
    expect(performance.now() - askedMs).toBeLessThan(callTimeoutMs + slackMs);
    await Promise.all(first);
    await client.query("rollback");
  });
});
