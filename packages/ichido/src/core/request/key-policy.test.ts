import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { entropyBits, entropyBitsMin, judgeKey } from "./key.ts";
import type { Key } from "../contract/record.ts";

const refuseAll = { personalData: "refuse", lowEntropy: "refuse" } as const;
const allowAll = { personalData: "allow", lowEntropy: "allow" } as const;
const personalOnly = { personalData: "warn", lowEntropy: "allow" } as const;

function judge(key: string, policy: Parameters<typeof judgeKey>[1]): ReturnType<typeof judgeKey> {
  return judgeKey(key as Key, policy);
}

const guessable = [
  "1",
  "order-1234",
  "payment:create:42",
  "undefined",
  "test",
  "aaaaaaaaaaaaaaaaaaaaaaaa",
  "2024-05-01-batch",
];
const fine = [
  "8e03978e-40d5-43e8-bc93-6894a57f9324",
  "018f3e5c-7a2b-7c3d-8e4f-123456789abc",
  "11111111-1111-4111-8111-111111111111",
  "01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "01AAAAAAAAAAAAAAAAAAAAAAAA",
  "3f9a7c21d04be586",
  "V1StGXR8_Z5jdHi6B-myT",
];

describe("judgeKey", () => {
  it.each(fine)("S3 finds nothing wrong with %s", (key) => {
    expect(judge(key, refuseAll)).toEqual({ verdict: "fine" });
  });

  it("S3 finds nothing wrong with keys from a random source", () => {
    for (let round = 0; round < 300; round += 1) {
      for (const key of [randomUUID(), randomBytes(16).toString("hex"), randomBytes(16).toString("base64url")]) {
        expect(judge(key, refuseAll), key).toEqual({ verdict: "fine" });
      }
    }
  });

  it.each(guessable)("S3 tells that %s could be guessed", (key) => {
    expect(judge(key, { personalData: "allow", lowEntropy: "refuse" })).toMatchObject({
      verdict: "refuse",
      reason: "low-entropy",
    });
    expect(judge(key, allowAll)).toEqual({ verdict: "fine" });
  });

  it("S3 takes the nil UUID for what it is", () => {
    expect(judge("00000000-0000-0000-0000-000000000000", refuseAll)).toMatchObject({ reason: "low-entropy" });
  });

  it.each([
    ["anna@example.org", "an e-mail address"],
    ["order-17-anna.b+x@mail.example.co.uk", "an e-mail address"],
    ["anna%40example.org", "an e-mail address"],
    ["4242424242424242", "a bare number"],
    ["17", "a bare number"],
    ["+49 (151) 123-4567", "a telephone number"],
    ["0151/1234567-0", "a telephone number"],
    ["123-4567", "a telephone number"],
    ["12345-1234567890", "a telephone number"],
    ["sms:+4915112345678:welcome", "a telephone number"],
  ])("sees personal data in %s", (key, what) => {
    expect(judge(key, personalOnly)).toMatchObject({
      verdict: "warn",
      reason: "personal-data",
      detail: expect.stringContaining(what) as unknown,
    });
    expect(judge(key, { ...personalOnly, personalData: "allow" })).toEqual({ verdict: "fine" });
  });

  it.each([
    "user:123/abc_def-1.2~x+=@",
    "a@b",
    "12345678901234567890",
    "v1.2.3",
    "order-1234",
    "12-3456",
    "123456-1234567890",
  ])("sees no personal data in %s", (key) => {
    expect(judge(key, personalOnly)).toEqual({ verdict: "fine" });
  });

  it("refuses where one rule warns and the other refuses", () => {
    expect(judge("17", { personalData: "warn", lowEntropy: "refuse" })).toMatchObject({
      verdict: "refuse",
      reason: "low-entropy",
    });
    expect(judge("17", { personalData: "refuse", lowEntropy: "warn" })).toMatchObject({
      verdict: "refuse",
      reason: "personal-data",
    });
    expect(judge("17", { personalData: "warn", lowEntropy: "warn" })).toMatchObject({
      verdict: "warn",
      reason: "personal-data",
    });
  });

  it("never repeats the key", () => {
    for (const key of [...guessable, "anna@example.org"]) {
      const verdict = judge(key, refuseAll);
      // A key that is an ordinary word or digit may be part of any sentence.
      if (verdict.verdict !== "fine" && key.length > 5) expect(verdict.detail).not.toContain(key);
    }
  });
});

describe("entropyBits", () => {
  it("S3 counts random characters by the smallest usual alphabet that holds them", () => {
    expect(entropyBits("0290471835")).toBeCloseTo(10 * Math.log2(10));
    expect(entropyBits("3f9a7c21d04be586")).toBeGreaterThanOrEqual(entropyBitsMin);
    expect(entropyBits("3F9A7C21")).toBeCloseTo(32);
    expect(entropyBits("3g9z7k")).toBeCloseTo(6 * Math.log2(36));
    expect(entropyBits("3g9Z7k")).toBeCloseTo(6 * Math.log2(62));
    expect(entropyBits("qhxkzbwpmvtrjdl")).toBeCloseTo(15 * Math.log2(26));
  });

  it("S3 counts words and runs for little", () => {
    expect(entropyBits("payment")).toBe(12);
    expect(entropyBits("subscription")).toBe(12);
    expect(entropyBits("Payment-Order")).toBe(24);
    expect(entropyBits("11111111")).toBeCloseTo(2 * Math.log2(10));
    expect(entropyBits("12345678")).toBeCloseTo(2 * Math.log2(10));
    expect(entropyBits("")).toBe(0);
  });
});
