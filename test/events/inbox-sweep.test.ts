/** A sweep does not believe a clock that jumped, on the three databases. */
import type { Inbox } from "ichido/inbox";
import { beforeEach, expect, test } from "vitest";
import { addEffect } from "../effects/sides.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { dayMs, message, migrated } from "./inbox-messages.ts";

forEachDatabase("a sweep", (open) => {
  let inbox: Inbox;
  beforeEach(async () => {
    inbox = await migrated(open(), { retentionMs: dayMs });
    await open().script("update ichido_inbox_clock set steady_ms = 0");
    await inbox.sweep();
  });
  const processed = async () => {
    const one = message();
    const run = () => inbox.runOnce(one, "stock", (_tx, { handle }) => addEffect(handle, one.id));
    expect(await run()).toEqual({ outcome: "processed" });
    return run;
  };
  /** As far as rows can tell, the clock is now further by so much. */
  const jump = async (byMs: number): Promise<void> => {
    await open().script(`update ichido_inbox set processed_ms = processed_ms - ${byMs}`);
    await open().script(
      `update ichido_inbox_clock set last_ms = last_ms - ${byMs}, steady_ms = steady_ms - ${byMs} where steady_ms > 0`,
    );
    await open().script(`update ichido_inbox_clock set last_ms = last_ms - ${byMs} where steady_ms = 0`);
  };

  test("forgets nothing after the clock has jumped ahead: a redelivery is a duplicate", async () => {
    const again = await processed();
    await jump(10 * dayMs);
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      const swept = await inbox.sweep();
      expect(swept).toMatchObject({ deleted: 0, more: false });
      expect(swept.waitsMs).toBeGreaterThan(dayMs / 2);
    }
    expect(await again()).toEqual({ outcome: "duplicate" });
  });

  test("forgets nothing of what was processed while the clock was behind, when it is right again", async () => {
    await jump(-10 * dayMs);
    expect(await inbox.sweep()).toMatchObject({ deleted: 0 });
    const again = await processed();
    await jump(10 * dayMs);
    expect(await inbox.sweep()).toMatchObject({ deleted: 0 });
    expect(await again()).toEqual({ outcome: "duplicate" });
  });

  test("goes on when the clock has run evenly for a retention", async () => {
    const again = await processed();
    await jump(10 * dayMs);
    await inbox.sweep();
    // Hour by hour, with a sweep in each.
    for (let hours = 0; hours < 30; hours += 3) {
      await jump(3 * 3_600_000);
      await inbox.sweep();
    }
    expect(await inbox.sweep()).toEqual({ deleted: 0, more: false });
    expect(await again()).toEqual({ outcome: "processed" });
  });
});
