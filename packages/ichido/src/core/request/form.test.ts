import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalForm, canonicalParsedForm, formPairsMax, isFieldNamed } from "./form.ts";

const form = (text: string | Uint8Array, fields?: readonly string[]): string | undefined =>
  canonicalForm(Buffer.from(text), fields);

describe("canonicalForm", () => {
  it.each([
    ["a=1&b=2", "b=2&a=1"],
    ["a=x+y", "a=x%20y"],
    ["a=%41%c3%a9", "a=A%C3%A9"],
    ["a=é", "a=%C3%A9"],
    ["a", "a="],
    ["&a=1&&", "a=1"],
    ["a=1&b=2&a=3", "b=2&a=1&a=3"],
    ["a==1", "a=%3D1"],
  ])("F-03 finds %s and %s the same", (a, b) => {
    expect(form(a)).toBe(form(b));
  });

  it.each([
    ["a=1", "a=2"],
    ["a=1&a=2", "a=2&a=1"],
    ["a=1", "a=1&a=1"],
    ["a=%ff", "a=%fe"],
    ["a=%ff", "a=%EF%BF%BD"],
    ["a=1&b=2", "a=1%26b%3D2"],
    ["a=1:b", "a=1&%3Ab"],
    ["a=é", "a=e%CC%81"],
    ["=1", "%3D1"],
    ["", "a"],
  ])("A13 holds %s and %s apart", (a, b) => {
    expect(form(a)).not.toBe(form(b));
  });

  it("F-03 finds forms equal exactly when their decoded pairs are, sorted by name", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "=", "&", "+", "%20", "%61", "%", "1"), maxLength: 8 });
    const pairs = (body: string): string => {
      const decoded = new URLSearchParams(body);
      decoded.sort();
      return JSON.stringify([...decoded]);
    };
    fc.assert(
      fc.property(text, text, (a, b) => {
        // URLSearchParams would drop a question mark in front; there is none here. Of bytes that are not UTF-8 (%ab, %b1)
        // it makes one character, whichever they are; here they stay apart.
        fc.pre(!`${pairs(a)}${pairs(b)}`.includes("\ufffd"));
        expect(form(a) === form(b)).toBe(pairs(a) === pairs(b));
      }),
      { numRuns: 10_000 },
    );
  });

  it("gives up on more pairs than any parser takes", () => {
    expect(form("a&".repeat(formPairsMax))).toBeDefined();
    expect(form("a&".repeat(formPairsMax + 1))).toBeUndefined();
  });

  it("F-03 keeps the named fields alone", () => {
    expect(form("note=x&amount=1&é=2", ["amount", "é"])).toBe(form("amount=1&%C3%A9=2"));
    expect(form("customer[id]=1&customer[name]=x", ["customer.id"])).toBe(form("customer[id]=1"));
    expect(form("amount=", ["amount"])).not.toBe(form("", ["amount"]));
  });
});

describe("canonicalParsedForm", () => {
  it("F-03 spells a parsed form as its bytes", () => {
    const bytes = form("b=2&a=1&a=3&%C3%A9=x+y");
    expect(canonicalParsedForm({ a: ["1", "3"], b: "2", é: "x y" })).toBe(bytes);
    expect(canonicalParsedForm(new URLSearchParams("b=2&a=1&a=3&é=x+y"))).toBe(bytes);
    expect(canonicalParsedForm({ a: ["1", "3"], b: "2" }, ["b"])).toBe(form("b=2"));
    const data = new FormData();
    data.append("a", "1");
    expect(canonicalParsedForm(data)).toBe(form("a=1"));
    data.append("f", new File([], "a"));
    expect(canonicalParsedForm(data)).toBeUndefined();
  });

  it.each([
    [{ a: { b: "1" } }],
    [{ a: 1 }],
    [{ a: [["1"]] }],
    [["a"]],
    ["a"],
    [null],
    [undefined],
    [new Map([["a", "1"]])],
  ])("leaves %j to others", (value) => {
    expect(canonicalParsedForm(value)).toBeUndefined();
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
