import { describe, expect, it } from "vitest";
import { comparableTarget } from "./fingerprint.ts";

const isSame = (a: string, b: string): boolean =>
  JSON.stringify(comparableTarget(a)) === JSON.stringify(comparableTarget(b));

describe("comparableTarget", () => {
  it.each([
    ["/a?a=1&b=2", "/a?b=2&a=1"],
    ["/a?x=1&b=2&b=3&a", "/a?a&b=2&x=1&b=3"],
    ["/a?", "/a"],
    ["/a?b=1&", "/a?&b=1"],
    ["/%7euser/%41", "/~user/A"],
    ["/a?q=%2f", "/a?q=%2F"],
    ["/a?%61=1", "/a?a=1"],
    ["http://shop.example/a?b=1", "/a?b=1"],
    ["HTTPS://shop.example:8443", "/"],
    ["http://shop.example?b=1", "/?b=1"],
  ])("finds %s and %s the same", (a, b) => {
    expect(isSame(a, b)).toBe(true);
  });

  it.each([
    ["/a?a=1", "/a?a=2"],
    ["/a?a=1", "/a"],
    ["/a?a=1", "/b?a=1"],
    ["/a?a=1&a=2", "/a?a=2&a=1"],
    ["/a?a=+", "/a?a=%20"],
    ["/a?a", "/a?a="],
    ["/a/b", "/a%2Fb"],
    ["/a?b", "/a%3Fb"],
    ["/a?x=1%26y=2", "/a?x=1&y=2"],
    ["/A", "/a"],
    ["/a/../b", "/b"],
    ["/a?q=%zz", "/a?q=%ZZ"],
    ["/http://shop.example/a", "/a"],
  ])("A13 holds %s and %s apart", (a, b) => {
    expect(isSame(a, b)).toBe(false);
  });
});
