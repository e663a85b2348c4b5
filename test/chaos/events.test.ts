/** A short run with every test; `npm run chaos -- --part events --broker … --store …` is the long one, with its controls. */
import { describe, expect, test } from "vitest";
import { judgeEvents, type EventLedgers } from "../../chaos/events/judgement.ts";
import { eventsTextOf } from "../../chaos/events/report.ts";
import { runEvents } from "../../chaos/events/run.ts";
import type { Charge } from "../../packages/ichido/src/testing/fake-provider.ts";

const seconds = 12;
const withinMs = 900_000;

test(
  "I5 I12 I14 I15 I16 I17 on SQLite and NATS every committed event takes effect once, in order, whatever goes wrong",
  async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const report = await runEvents({ store: "sqlite", broker: "nats", seconds, seed, control: "none", each: 2 });
    console.log(eventsTextOf(report));
    expect(report.violations).toEqual([]);
    expect(report.vacuous).toEqual([]);
  },
  withinMs,
);

describe("I19 the judgement of events", () => {
  const event = (id: string, number: number, topic = "order.paid") => ({ id, topic, subject: "s", number });
  const charge = (amount: number): Charge => ({ id: "c", reference: "r", amount, currency: "EUR", atMs: 0 });
  const quiet = { pending: 0, outboxDead: 0, parked: 0, inboxDead: 0 };

  function seen(parts: {
    rows?: readonly string[];
    charges?: readonly number[];
    letters?: readonly string[];
    pending?: number;
  }) {
    const { rows = ["a", "b"], charges = [1, 2], letters = [], pending = 0 } = parts;
    const ledgers: EventLedgers = {
      told: {
        events: [event("a", 1), event("b", 2)],
        handled: rows.map((id) => ({ handler: "rows", id })),
        letters,
        waiting: { ...quiet, pending },
      },
      honest: charges.map(charge),
      deaf: [],
    };
    return judgeEvents(ledgers).violations.map(({ invariant }) => invariant);
  }

  test("finds nothing where each event took effect once for each handler", () => {
    expect(seen({})).toEqual([]);
  });

  test.each([
    ["a second row", { rows: ["a", "b", "b"] }, "effect-doubled"],
    ["a second charge", { charges: [1, 2, 2] }, "effect-doubled"],
    ["a row that is missing", { rows: ["a"] }, "lost"],
    ["a charge that is missing", { charges: [2] }, "lost"],
    ["a row of a transaction that was taken back", { rows: ["a", "b", "c"] }, "effect-unasked"],
    ["a charge of a transaction that was taken back", { charges: [1, 2, 3] }, "effect-unasked"],
    ["rows out of order", { rows: ["b", "a"] }, "order"],
    ["charges out of order", { charges: [2, 1] }, "order"],
    ["an event that waits in the end", { pending: 1 }, "stuck"],
  ])("sees %s", (_what, parts, invariant) => {
    expect(seen(parts)).toEqual([invariant]);
  });

  test("lets a replayed letter come out of order, and no other event", () => {
    expect(seen({ rows: ["b", "a"], letters: ["rows a"] })).toEqual([]);
    expect(seen({ rows: ["b", "a"], letters: ["bank a"] })).toEqual(["order"]);
  });
});
