import { expect, it } from "vitest";
import type { Identity } from "../core/contract/record.ts";
import { isRecordName, maskedKey, recordNames, withoutKey } from "./masked-key.ts";

it("never shows more than six letters of a key, and nothing of a short one", () => {
  expect(maskedKey("6f1c2b1e-8a44-4a5e-9d0e-5d2b8f3c7a10")).toBe("6f1c…10");
  expect([maskedKey("order-4711"), maskedKey("4711"), maskedKey("")]).toEqual(["or…", "…", "…"]);
});

it("takes the key out of texts that quote it", () => {
  expect(withoutKey("key order-4711-abcdef, again order-4711-abcdef", "order-4711-abcdef")).toBe(
    "key orde…ef, again orde…ef",
  );
});

it("names a record by key and scope, the same every time", () => {
  const identity = (key: string, byte: number): Identity =>
    ({ key, scopeHash: new Uint8Array(32).fill(byte) }) as Identity;
  const recordName = recordNames(undefined);
  const name = recordName(identity("a", 1));
  expect(name).toBe(recordName(identity("a", 1)));
  expect(new Set([name, recordName(identity("b", 1)), recordName(identity("a", 2))]).size).toBe(3);
  expect(isRecordName(name)).toBe(true);
  expect(isRecordName("@xyz")).toBe(false);
});

it("names a record under the secret, where there is one: who guesses its key cannot try it", () => {
  const identity = { key: "order-4711", scopeHash: new Uint8Array(32) };
  const names = [undefined, "one secret", "another"].map((secret) => recordNames(secret)(identity));
  expect(new Set(names).size).toBe(3);
  expect(names.every(isRecordName)).toBe(true);
  expect(recordNames("one secret")(identity)).toBe(names[1]);
});
