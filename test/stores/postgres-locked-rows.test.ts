/** A record that a transaction keeps locked: whoever waits for it goes with their caller, and decides nothing afterwards. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Claim, IchidoError } from "ichido";
import { postgresStore, type PostgresStore } from "ichido/postgres";
import postgres from "postgres";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";

/** Long enough that a busy machine hears of the server that it gave up waiting, before it gives up the call. */
const callTimeoutMs = 1_200;

const waiting =
  "select count(*)::integer from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

const person = { actor: "ann", reason: "asked" };
const step = { name: "charge", leaseMs: 50 };

/** S5 and S16: the verbs that write a record and do not answer without it. */
const verbs: Readonly<Record<string, (store: PostgresStore, held: Claim) => Promise<unknown>>> = {
  "S16 settle": (store, { identity, fence }) =>
    store.settle({ identity, fence, decision: { kind: "release" }, ...person }),
  "S5 release": (store, held) => store.release(held),
  "S5 suspend": (store, held) => store.suspend({ ...held, resources: [{ kind: "charge", id: "ch_1" }] }),
  "S5 startStep": (store, held) => store.startStep({ ...held, ...step }),
  "S5 finishStep": (store, held) => store.finishStep({ ...held, ...step, result: new Uint8Array([1]) }),
};

describeWith("postgres", "a record that a transaction keeps locked", (url) => {
  async function lockedLife() {
    const life = await openLife(url);
    onTestFinished(() => life.end());
    const store = postgresStore(life.newPool({ max: 4 }), { callTimeoutMs });
    onTestFinished(() => store.close());
    const held = await grant(store, request("key", "a", { leaseMs: 50 }));
    const client = await life.newPool({ max: 1 }).connect();
    onTestFinished(() => client.release());
    await client.query("begin");
    await client.query("update ichido_records set updated_at = updated_at");
    await sleep(100);
    return { life, store, held, free: () => client.query("rollback") };
  }

  for (const [title, call] of Object.entries(verbs)) {
    test(`${title} of it is refused in time, and leaves nobody waiting on the server`, async () => {
      const { life, store, held, free } = await lockedLife();
      for (let time = 0; time < 3; time += 1) {
        const error = await call(store, held).catch((failure: unknown) => failure as IchidoError);
        expect(error).toMatchObject({
          code: "store-unavailable",
          message: expect.stringContaining("locked") as string,
        });
        await eventually(async () => expect(await life.ask<number>(waiting)).toBe(0), 400);
      }
      await free();
      expect(await call(store, held)).toBe("ok");
    });
  }

  test("S5 a release waits for a transaction that ends within the time of the call", async () => {
    const { store, held, free } = await lockedLife();
    const released = store.release(held);
    await sleep(callTimeoutMs / 2);
    await free();
    expect(await released).toBe("ok");
  });

  test("S16 a decision that a person was told had failed does not win over the one made after it", async () => {
    const { store, held, free } = await lockedLife();
    const decide = (kind: "release" | "hold") =>
      store.settle({ identity: held.identity, fence: held.fence, decision: { kind }, ...person });
    await expect(decide("release")).rejects.toMatchObject({ code: "store-unavailable" });
    const holding = decide("hold");
    await sleep(50);
    await free();
    expect(await holding).toBe("ok");
    expect(await store.claim(request("key", "b"))).toMatchObject({ outcome: "unknown", holdReason: "asked" });
    expect((await store.audit(held.identity)).map(({ action }) => action)).toEqual(["hold"]);
  });

  test("S16 the same through postgres.js", async () => {
    const { life, store, held, free } = await lockedLife();
    const sql = postgres(life.url, { max: 2 });
    onTestFinished(() => sql.end({ timeout: 1 }));
    const other = postgresStore(sql, { callTimeoutMs });
    const { identity, fence } = held;
    const releasing = other.settle({ identity, fence, decision: { kind: "release" }, ...person });
    await expect(releasing).rejects.toMatchObject({ code: "store-unavailable" });
    await eventually(async () => expect(await life.ask<number>(waiting)).toBe(0), 400);
    await free();
    expect((await store.find(identity))?.state).toBe("unknown");
  });
});
