/** What a soak takes up is bounded; the soak itself is `npm run soak`, and takes hours. */
import { describe, expect, test } from "vitest";
import { grownBy, type Footprint } from "../../chaos/soak/footprint.ts";

const calm: Omit<Footprint, "minute"> = { runnerMb: 120, veteranMb: 110, deskMb: 90, storeMb: 9, records: 500 };
const thirds = (first: object, second: object, third: object): readonly Footprint[] =>
  [first, second, third].flatMap((each, place) =>
    [0, 1, 2].map((number) => ({ ...calm, ...each, minute: 10 * place + number })),
  );

describe("the footprint of a soak", () => {
  test("I18 what goes up and down, or grows while it warms up, is no growth", () => {
    expect(grownBy(thirds({ storeMb: 1 }, { storeMb: 80 }, { storeMb: 90 }))).toEqual([]);
    expect(grownBy(thirds({ veteranMb: 300 }, { veteranMb: 110 }, { veteranMb: 150 }))).toEqual([]);
  });

  test.each([
    ["veteranMb", 110, 270],
    ["runnerMb", 120, 280],
    ["deskMb", 90, 240],
    ["storeMb", 9, 90],
    ["records", 500, 3_000],
  ])("I18 %s that grows from %d to %d is told", (part, was, is) => {
    const [told] = grownBy(thirds({}, { [part]: was }, { [part]: is }));
    expect(told).toContain(`${part} was ${was} and is ${is}`);
  });

  test("too few rounds tell nothing", () => {
    expect(grownBy(thirds({}, {}, {}).slice(0, 2))).toEqual([]);
  });
});
