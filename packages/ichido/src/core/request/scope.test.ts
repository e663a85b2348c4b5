import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isIchidoError } from "../contract/errors.ts";
import { profiles } from "../contract/profiles.ts";
import type { Identity, Key, Scope } from "../contract/record.ts";
import { checkScope, identityOf, keyHashOf, localIdOf, sharedScope } from "./scope.ts";

const key = (text: string): Key => text as Key;
const identity = (scope: Scope, operation = "payment.create", text = "k"): Identity =>
  identityOf(scope, operation, key(text), profiles.ietf);

function refusal(value: unknown): string {
  try {
    checkScope(value);
  } catch (error) {
    if (isIchidoError(error) && error.code === "scope-missing") return error.message;
    throw error;
  }
  return "(accepted)";
}

describe("checkScope", () => {
  it("A08 takes a tenant, a principal, or both", () => {
    expect(checkScope({ tenant: "t" })).toEqual({ tenant: "t" });
    expect(checkScope({ principal: "p" })).toEqual({ principal: "p" });
    expect(checkScope({ tenant: "t", principal: "p" })).toEqual({ tenant: "t", principal: "p" });
  });

  it("A08 takes whole numbers, which most ids are, as the text that they are written as", () => {
    expect(checkScope({ tenant: 7, principal: 12_345_678_901_234_567_890n })).toEqual({
      tenant: "7",
      principal: "12345678901234567890",
    });
    expect(identity(checkScope({ principal: 7 }))).toEqual(identity(checkScope({ principal: "7" })));
    expect(checkScope({ principal: 0 })).toEqual({ principal: "0" });
  });

  it("A08 takes parts that a class provides", () => {
    class Caller {
      get tenant(): string {
        return "t";
      }
    }
    expect(checkScope(new Caller())).toEqual({ tenant: "t" });
  });

  it.each([
    [undefined, /returned undefined/],
    [null, /returned null/],
    ["user-1", /type string/],
    [["a"], /an array/],
    [{}, /neither tenant nor principal/],
    [{ tenant: undefined }, /tenant is undefined/],
    [{ tenant: "t", principal: undefined }, /principal is undefined/],
    [{ tenant: "t", principal: null }, /principal is null/],
    [{ principal: 4.2 }, /principal is 4.2, which is no safe whole number/],
    [{ principal: Number.NaN }, /principal is NaN/],
    [{ tenant: 2 ** 53 }, /tenant is 9007199254740992/],
    [{ principal: "" }, /empty string/],
    [{ tenant: "x".repeat(256) }, /256 characters/],
    [{ tenant: "a\0b" }, /NUL/],
    [{ tenant: "a\ud800" }, /surrogate/],
    [{ tenant: "t", user: "u" }, /"user"/],
    [Promise.resolve({ tenant: "t" }), /promise/],
  ])("A08 refuses %j, and never shares keys instead", (value, message) => {
    expect(refusal(value)).toMatch(message);
  });

  it("A08 takes a part of 255 characters and any well-formed text", () => {
    expect(refusal({ tenant: "x".repeat(255), principal: "日本 😀 a:b" })).toBe("(accepted)");
  });

  it("never shows the part itself", () => {
    expect(refusal({ tenant: `${"secret".repeat(50)}` })).not.toContain("secret");
  });
});

describe("identityOf", () => {
  it("S-01 A08 holds tenants and principals apart", () => {
    const hashes = [
      { tenant: "a" },
      { tenant: "b" },
      { principal: "a" },
      { tenant: "a", principal: "a" },
      sharedScope,
    ].map((scope) => keyHashOf(identity(scope)));
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it("A08 gives the same identity to the same principal, whatever else changed", () => {
    expect(identity({ tenant: "a", principal: "p" })).toEqual(identity({ tenant: "a", principal: "p" }));
  });

  it("S-03 holds apart what a delimiter would join", () => {
    expect(localIdOf(identity({ tenant: "a" }, "op", "b:c"))).not.toBe(
      localIdOf(identity({ tenant: "a:b" }, "op", "c")),
    );
    expect(identity({ tenant: "a", principal: "b:c" }).scopeHash).not.toEqual(
      identity({ tenant: "a:b", principal: "c" }).scopeHash,
    );
    expect(identity({ tenant: "a", principal: "1:b" }).scopeHash).not.toEqual(
      identity({ tenant: "a1:1", principal: "b" }).scopeHash,
    );
    expect(identity({ tenant: "-" }).scopeHash).not.toEqual(identity({ principal: "-" }).scopeHash);
  });

  it("S-03 S10 never gives two lists of parts the same hash", () => {
    const part = fc.option(
      fc.string({ unit: fc.constantFrom("a", ":", "-", "1", "2", "é"), minLength: 1, maxLength: 4 }),
      { nil: undefined },
    );
    const parts = fc.tuple(part, part, fc.constantFrom("o", "1:o", "-"));
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const [hashA, hashB] = [a, b].map(
          ([tenant, principal, operation]) =>
            identity({ ...(tenant && { tenant }), ...(principal && { principal }) }, operation).scopeHash,
        );
        expect(Buffer.from(hashA ?? []).equals(hashB ?? Buffer.of(1))).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      { numRuns: 2000 },
    );
  });

  it("S-02 A09 makes another operation another identity", () => {
    expect(identity({ tenant: "a" }, "a.create").scopeHash).not.toEqual(
      identity({ tenant: "a" }, "b.create").scopeHash,
    );
  });

  it("S-02 stripe has one key space per principal, and still remembers the operation", () => {
    const [a, b] = ["a.create", "b.create"].map((operation) =>
      identityOf({ principal: "p" }, operation, key("k"), profiles.stripe),
    );
    expect(a?.scopeHash).toEqual(b?.scopeHash);
    expect([a?.operation, b?.operation]).toEqual(["a.create", "b.create"]);
    expect(a?.scopeHash).not.toEqual(identityOf({ principal: "p" }, "a.create", key("k"), profiles.ietf).scopeHash);
  });

  it("hashes to 32 bytes and keeps the parts", () => {
    const made = identity({ tenant: "t" });
    expect(made.scopeHash).toHaveLength(32);
    expect(made).toMatchObject({ key: "k", tenant: "t", principal: undefined, operation: "payment.create" });
  });

  it("refuses an operation without a name", () => {
    expect(() => identity({ tenant: "a" }, "")).toThrow(expect.objectContaining({ code: "option-invalid" }) as Error);
    expect(() => identity({ tenant: "a" }, "\udc00")).toThrow(
      expect.objectContaining({ code: "option-invalid" }) as Error,
    );
  });
});

describe("keyHashOf", () => {
  it("gives eight hexadecimal digits that depend on key and scope", () => {
    const hash = keyHashOf(identity({ tenant: "a" }));
    expect(hash).toMatch(/^[0-9a-f]{8}$/);
    expect(hash).toBe(keyHashOf(identity({ tenant: "a" })));
    expect(hash).not.toBe(keyHashOf(identity({ tenant: "b" })));
    expect(hash).not.toBe(keyHashOf(identity({ tenant: "a" }, "payment.create", "k2")));
  });
});
