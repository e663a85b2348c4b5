import { describe, expect, it } from "vitest";
import { enlist } from "./remembered.ts";
import { memoryStorage } from "./storage.ts";

const list = { place: "made", ageMs: 1_000, max: 3 };

function setUp(before?: string) {
  const storage = memoryStorage();
  if (before !== undefined) void storage.setItem("made", before);
  return {
    add: (name: string, atMs: number) => enlist(storage, list, [name, atMs]),
    kept: async () => JSON.parse((await storage.getItem("made")) ?? "") as unknown,
  };
}

describe("a list of names", () => {
  it("keeps the last ones, oldest first, and tells which had to go", async () => {
    const { add, kept } = setUp();
    for (const [at, name] of ["a", "b", "c"].entries()) expect(await add(name, 10 + at)).toEqual([]);
    expect(await add("d", 20)).toEqual(["a"]);
    expect(await kept()).toEqual([
      ["b", 11],
      ["c", 12],
      ["d", 20],
    ]);
  });

  it("lets go of what has reached its age, to the millisecond", async () => {
    const { add, kept } = setUp();
    await add("a", 10);
    await add("b", 11);
    expect(await add("c", 1_010)).toEqual(["a"]);
    expect(await kept()).toEqual([
      ["b", 11],
      ["c", 1_010],
    ]);
  });

  it("has a name once, at its last time", async () => {
    const { add, kept } = setUp();
    await add("a", 10);
    await add("b", 11);
    expect(await add("a", 12)).toEqual([]);
    expect(await kept()).toEqual([
      ["b", 11],
      ["a", 12],
    ]);
  });

  it("with the time 0 loses that name and nothing else, whatever the age of the others", async () => {
    const { add, kept } = setUp();
    await add("a", 10);
    await add("b", 11);
    expect(await add("a", 0)).toEqual([]);
    expect(await kept()).toEqual([["b", 11]]);
  });

  it.each(["", "{", "7", "null", '{"a":1}'])("that cannot be read (%j) begins anew", async (before) => {
    const { add, kept } = setUp(before);
    expect(await add("a", 10)).toEqual([]);
    expect(await kept()).toEqual([["a", 10]]);
  });

  it("bears entries that are none", async () => {
    const { add, kept } = setUp('[null, 7, ["b", 5]]');
    await add("a", 10);
    expect(await kept()).toEqual([
      ["b", 5],
      ["a", 10],
    ]);
  });
});
