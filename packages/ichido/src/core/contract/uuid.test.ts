import { expect, test } from "vitest";
import { uuidV4, uuidV7 } from "./uuid.ts";

test("both have the form, the version and the variant of RFC 9562", () => {
  const form = (version: number): RegExp =>
    new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`);
  for (let each = 0; each < 50; each += 1) {
    expect(uuidV4()).toMatch(form(4));
    expect(uuidV7(Date.now())).toMatch(form(7));
  }
  expect(new Set(Array.from({ length: 50 }, uuidV4)).size).toBe(50);
});

test("version 7 begins with its moment, and sorts by it", () => {
  const zeros = { randomBytes: (length: number) => new Uint8Array(length) };
  expect(uuidV7(1_794_000_000_123, zeros)).toBe("01a1b2bb-947b-7000-8000-000000000000");
  expect(uuidV7(1_000, zeros) < uuidV7(1_001, zeros)).toBe(true);
});
