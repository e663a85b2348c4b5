import { expect, test } from "vitest";
import { gunzipSync } from "node:zlib";
import { files, sourceHash as builtFrom } from "../../shop/src/playground/page.generated.ts";
import { sourceHash } from "../build/source-hash.ts";
import { en } from "../src/i18n/en.ts";
import { ja } from "../src/i18n/ja.ts";

const text = (base64: string): string => gunzipSync(Buffer.from(base64, "base64")).toString();

test("the page inside the shop is built from the page's source; otherwise: npm run playground:build", () => {
  expect(builtFrom).toBe(sourceHash());
});

test("the page has nothing inline, and asks for nothing but its own files", () => {
  const page = text(files[""]?.base64 ?? "");
  expect(page).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
  const addresses = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address ?? "");
  const own = addresses.filter((address) => address !== "/plain");
  expect(own.length).toBeGreaterThan(2);
  expect(own.filter((address) => files[address.replace(/^\/playground\//, "")] === undefined)).toEqual([]);
});

test("Japanese has a text of its own for every English one, but for names and numbers", () => {
  const flat = (value: unknown, at = ""): readonly (readonly [string, string])[] =>
    typeof value === "string"
      ? [[at, value]]
      : typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([name, each]) => flat(each, `${at}.${name}`))
        : [];
  const japanese = new Map(flat(ja));
  const same = flat(en).filter(([at, english]) => japanese.get(at) === english);
  expect(same.map(([, english]) => english).toSorted()).toEqual([
    "5xx",
    "English",
    "claim",
    "complete",
    "p50 / p95 / p99",
    "release",
    "server.ts",
    "suspend",
    "日本語",
  ]);
});
