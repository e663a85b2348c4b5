import { describe, expect, it } from "vitest";
import { fieldTreeOf, isFieldNamed } from "./fields.ts";

describe("fieldTreeOf", () => {
  it("makes a tree of dotted paths, once per list", () => {
    const fields = ["a", "b.c", "b.d.e"];
    const tree = fieldTreeOf(fields);
    expect(tree.get("a")).toBe(true);
    expect(tree.get("b")).toEqual(
      new Map<string, unknown>([
        ["c", true],
        ["d", new Map([["e", true]])],
      ]),
    );
    expect(tree.get("x")).toBeUndefined();
    expect(fieldTreeOf(fields)).toBe(tree);
  });
});

describe("isFieldNamed", () => {
  it.each([
    ["amount", true],
    ["customer[id]", true],
    ["customer[id][x]", true],
    ["customer.id", true],
    ["items[]", true],
    ["items[0][sku]", true],
    ["customer[name]", false],
    ["customer", false],
    ["amounts", false],
    ["", false],
    ["items[", false],
    ["items]", false],
    ["customer[id", false],
    ["customer[id]x", false],
    ["customer[[id]", false],
    ["[customer][id]", false],
    ["items[[0]][sku]", true],
    ["items[0][", true],
  ])("reads the form field %j as parsers of forms do", (name, counts) => {
    expect(isFieldNamed(name, ["amount", "customer.id", "items"])).toBe(counts);
  });
});
