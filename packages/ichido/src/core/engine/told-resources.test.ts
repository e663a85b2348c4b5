import { describe, expect, it } from "vitest";
import { answer, bed, executionOf } from "../../../../../test/support/engine-bed.ts";
import { limits } from "../contract/defaults.ts";
import { withTold } from "../record-machine/resources.ts";
import { ToldResources } from "./told-resources.ts";

describe("what a handler tells of", () => {
  it("is each once, whatever number it has, and news until it is kept", () => {
    const told = new ToldResources();
    told.add("payment", 7);
    told.add("payment", 7n);
    told.add("order", "o_1");
    told.add("refund", "o_1");
    const news = {
      resources: [
        { kind: "payment", id: "7" },
        { kind: "order", id: "o_1" },
        { kind: "refund", id: "o_1" },
      ],
    };
    expect(told.news).toEqual(news);
    told.kept(told.news);
    expect(told.news).toEqual({});
    told.kept({});
    expect(told.all).toEqual(news.resources);
  });

  it("is news once more for a write that left before the last one ended, and counts once", () => {
    const told = new ToldResources();
    told.add("payment", 7);
    const [one, other] = [told.news, told.news];
    told.kept(one);
    told.kept(other);
    told.add("order", "o_1");
    expect(told.news).toEqual({ resources: [{ kind: "order", id: "o_1" }] });
    const late = told.news;
    told.add("item", 1);
    told.kept(told.news);
    told.kept(late);
    expect(told.news).toEqual({});
  });

  it.each([
    ["", "x"],
    ["k".repeat(limits.resourceKindLengthMax + 1), "x"],
    ["payment", ""],
    ["payment", "a\0"],
    ["payment", "\ud800"],
    ["payment", 1.5],
  ])("is refused as %j, %j", (kind, id) => {
    expect(() => new ToldResources().add(kind, id)).toThrow(/ctx\.resource/);
  });

  it("is kept where steps side by side told the same before", async () => {
    const all = bed();
    const execution = executionOf(await all.ask());
    const { context } = execution;
    context.resource("payment", "pay_7");
    await Promise.all([context.step("bank.charge", () => 1), context.step("mail.send", () => 2)]);
    context.resource("order", 31);
    await answer(execution);
    const made = [
      { kind: "payment", id: "pay_7" },
      { kind: "order", id: "31" },
    ];
    const { records } = await all.store.list({ key: "key-1", limit: 1 });
    const [{ identity } = expect.fail()] = records;
    expect(await all.store.resources(identity)).toEqual(made);
  });

  it("is bounded", () => {
    const told = new ToldResources();
    for (let at = 0; at < limits.resourcesMax; at += 1) told.add("item", at);
    told.add("item", 0);
    expect(() => told.add("item", "one more")).toThrow(String(limits.resourcesMax));
  });

  it("is added to a record that does not know it", () => {
    const known = [{ kind: "a", id: "1" }];
    expect(withTold(known, undefined)).toBe(known);
    expect(withTold(known, known)).toBe(known);
    expect(
      withTold(known, [
        { kind: "a", id: "2" },
        { kind: "a", id: "2" },
        { kind: "b", id: "1" },
      ]),
    ).toHaveLength(3);
  });
});
