import { expect, it } from "vitest";
import { IchidoError } from "../contract/errors.ts";
import type { IchidoEvent } from "../contract/events.ts";
import { fakeClock } from "../../testing/clock.ts";
import { StoreFailure } from "./store-calls.ts";
import { createTrouble } from "./trouble.ts";

function setUp() {
  const clock = fakeClock();
  const events: IchidoEvent[] = [];
  return { clock, events, trouble: createTrouble(clock.environment, (event) => void events.push(event)) };
}

const down = (verb: string): StoreFailure => new StoreFailure("own", verb, new Error("down"));
const missing = (verb: string): StoreFailure =>
  new StoreFailure("own", verb, new IchidoError("schema-missing", "the tables are missing"));

it("is told once for a verb and a reason, with the failure itself", () => {
  const { events, trouble } = setUp();
  const first = down("claim");
  for (const failure of [first, down("claim"), missing("claim"), down("tick")]) trouble.failed(failure);
  expect(events).toEqual([
    { type: "warning", code: "store-failed", message: "the own store failed at claim: Error", error: first },
    expect.objectContaining({ message: "the own store failed at claim: the tables are missing" }),
    expect.objectContaining({ message: "the own store failed at tick: Error" }),
  ]);
});

it("a ping tells its caller alone", () => {
  const { events, trouble } = setUp();
  trouble.failed(down("ping"));
  expect(events).toEqual([]);
  expect(trouble.standing("ping")).toBeDefined();
});

it("is told again only where the verb has worked a minute after it was told, and for that verb", async () => {
  const { clock, events, trouble } = setUp();
  trouble.worked("claim");
  trouble.failed(down("claim"));
  await clock.advance(59_999);
  trouble.worked("claim");
  trouble.failed(down("claim"));
  expect(events).toHaveLength(1);
  await clock.advance(1);
  trouble.worked("tick");
  trouble.failed(down("claim"));
  expect(events).toHaveLength(1);
  trouble.worked("claim");
  trouble.failed(down("claim"));
  expect(events).toHaveLength(2);
});

it("stands until the verb works, or a minute after the last try", async () => {
  const { clock, trouble } = setUp();
  expect(trouble.standing("begin")).toBeUndefined();
  const failure = down("begin");
  trouble.failed(failure);
  trouble.worked("claim");
  expect(trouble.standing("begin")).toBe(failure);
  expect(trouble.standing("claim")).toBeUndefined();
  trouble.worked("begin");
  expect(trouble.standing("begin")).toBeUndefined();
  trouble.failed(failure);
  await clock.advance(59_999);
  expect(trouble.standing("begin")).toBe(failure);
  await clock.advance(1);
  expect(trouble.standing("begin")).toBeUndefined();
});
