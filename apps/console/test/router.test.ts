import { expect, test } from "vitest";
import { hashOf, placeOf } from "../src/router.ts";

test.each([
  [["keys"], { state: "unknown", label: "order=a&b" }],
  [["keys", "@3fa9/é?#"], {}],
  [["ask"], { text: "<b>cus_42</b> 100%" }],
])("an address of %j %j leads back to it", (path, query) => {
  expect(placeOf(hashOf(path, query))).toEqual({ path, query });
});

test("what is empty is left out, and a broken escape is text", () => {
  expect(hashOf(["keys"], { state: "", cursor: undefined })).toBe("#/keys");
  expect(placeOf("#/keys/%E0%A4%A")).toEqual({ path: ["keys", "%E0%A4%A"], query: {} });
  expect(placeOf("")).toEqual({ path: [], query: {} });
});
