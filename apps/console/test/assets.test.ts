import { expect, test } from "vitest";
import { gunzipSync } from "node:zlib";
import { assets, sourceHash as builtFrom } from "../../../packages/ichido/src/console/assets.generated.ts";
import { sourceHash } from "../build/source-hash.ts";

const text = (base64: string): string => gunzipSync(Buffer.from(base64, "base64")).toString();

test("the page inside the package is built from the page's source; otherwise: npm run console:build", () => {
  expect(builtFrom).toBe(sourceHash());
});

test("the page has nothing inline and asks for nothing by an absolute address", () => {
  const page = text(assets[""]?.base64 ?? "");
  expect(page).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
  const addresses = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address ?? "");
  expect(addresses.length).toBeGreaterThan(2);
  expect(addresses.filter((address) => !address.startsWith("./assets/"))).toEqual([]);
  expect(addresses.filter((address) => assets[address.slice(2)] === undefined)).toEqual([]);
});

test("it stays small: at most 90 kB over the wire", () => {
  const bytes = Object.values(assets).reduce((sum, { base64 }) => sum + Buffer.from(base64, "base64").length, 0);
  expect(bytes).toBeLessThan(90_000);
});
