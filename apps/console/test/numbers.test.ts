import { describe, expect, test } from "vitest";
import { bytes, count } from "../src/amount.ts";

describe("numbers", () => {
  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1_000, "1.0 kB"],
    [999_600, "1.0 MB"],
    [123_456_789, "123 MB"],
  ])("%d bytes", (size, shown) => {
    expect(bytes(size)).toBe(shown);
  });

  test("have thin spaces between thousands", () => {
    expect(count(1_204_331)).toBe("1\u202f204\u202f331");
    expect(count(999)).toBe("999");
  });
});
