import { describe, expect, it } from "vitest";
import { fingerprintOfInput } from "./fingerprint.ts";
import { profiles } from "../contract/profiles.ts";
import type { Key } from "../contract/record.ts";
import { identityOf, referenceOf } from "./scope.ts";

const identity = (tenant: string, key = "k", operation = "op"): ReturnType<typeof identityOf> =>
  identityOf({ tenant }, operation, key as Key, profiles.ietf);
const canonical = (input: unknown): Uint8Array => fingerprintOfInput(input).canonical;

describe("referenceOf", () => {
  it("gives the same 40 printable characters on every attempt, in every release", () => {
    const reference = referenceOf(identity("t"), canonical({ amount: 1 }), "bank.charge");
    expect(reference).toMatch(/^[\w-]{40}$/);
    expect(reference).toBe(referenceOf(identity("t"), new Uint8Array(canonical({ amount: 1 })), "bank.charge"));
    // Written out: a change of this value would make a provider charge again after a deploy.
    expect(referenceOf(identity("t"), new Uint8Array(32), "bank.charge")).toBe(
      "CA3iPRFNsAU0-0zo1lHoEjQNSIgiVVh8j2NYRctM",
    );
  });

  it("differs by tenant, operation, key, content and name", () => {
    const references = [
      referenceOf(identity("t"), canonical(1), "a"),
      referenceOf(identity("u"), canonical(1), "a"),
      referenceOf(identity("t", "k2"), canonical(1), "a"),
      referenceOf(identity("t", "k", "op2"), canonical(1), "a"),
      referenceOf(identity("t"), canonical(2), "a"),
      referenceOf(identity("t"), canonical(1), "b"),
    ];
    expect(new Set(references).size).toBe(references.length);
  });

  it("S10 holds apart a key and a name that run together", () => {
    expect(referenceOf(identity("t", "ab"), canonical(1), "c")).not.toBe(
      referenceOf(identity("t", "a"), canonical(1), "bc"),
    );
  });

  it.each(["", "x".repeat(201), "\ud800"])("refuses the name %j", (name) => {
    expect(() => referenceOf(identity("t"), canonical(1), name)).toThrow(
      expect.objectContaining({ code: "usage-invalid" }) as Error,
    );
  });

  it("takes a name of 200 characters", () => {
    expect(referenceOf(identity("t"), canonical(1), "x".repeat(200))).toHaveLength(40);
  });
});
