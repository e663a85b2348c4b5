/** A replay that ran while the inbox's own database was away: only its record knows, and that is forgotten one day. */
import { createIchido } from "ichido";
import { memoryStore } from "ichido/memory";
import type { TransactionRunner } from "ichido/transactions";
import { beforeAll, expect, test } from "vitest";
import { forEachDatabase } from "./inbox-databases.ts";
import { inboxOn, message, migrated } from "./inbox-messages.ts";

const engine = () =>
  createIchido({
    store: memoryStore(),
    dangerouslyShareKeys: true,
    onUnknown: "rerun",
    sweepMs: "off",
    onEvent: () => {},
  });

forEachDatabase("a message that ran and could not be noted", (open) => {
  beforeAll(() => migrated(open()));

  function rig() {
    const { runner } = open().side();
    let isAway = false;
    const link: TransactionRunner<unknown> = {
      ...runner,
      run: (fn, options) => (isAway ? Promise.reject(new Error("ECONNREFUSED")) : runner.run(fn, options)),
    };
    const ichido = engine();
    const away = (on: boolean): void => {
      isAway = on;
    };
    const later = inboxOn(runner, { ichido: engine() });
    return { inbox: inboxOn(link, { ichido }), later, away };
  }

  test("is not answered as processed before it is noted, and does not run again when its record is forgotten", async () => {
    const { inbox, later, away } = rig();
    const one = message();
    let runs = 0;
    const run = (): void => {
      runs += 1;
      away(true);
    };
    await expect(inbox.run(one, "noted", run, { evenIfOld: true })).rejects.toMatchObject({
      code: "store-unavailable",
      retryable: true,
    });
    away(false);
    expect(await inbox.run(one, "noted", run, { evenIfOld: true })).toEqual({ outcome: "duplicate" });
    expect(await later.run(one, "noted", run, { evenIfOld: true })).toEqual({ outcome: "duplicate" });
    expect(runs).toBe(1);
  });
});
