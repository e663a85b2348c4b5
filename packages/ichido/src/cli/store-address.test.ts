import { expect, it } from "vitest";
import { kindOfAddress, shownAddress } from "./store-address.ts";

it.each([
  ["postgres://shop:hunter2@db:5432/shop", "postgres://shop:…@db:5432/shop"],
  ["postgres://shop:hun/ter@2@db/shop", "postgres://shop:…@db/shop"],
  ["redis://:hunter2@db:6379/0", "redis://:…@db:6379/0"],
  ["postgres://db/shop?user=shop&password=hunter2", "postgres://db/shop?…"],
  ['"postgres://shop:hunter2@db/shop"', '"postgres://shop:…@db/shop"'],
  [" mysql://root:hunter2@db/shop", " mysql://root:…@db/shop"],
  ["mysql2://root:hunter2@db/shop", "mysql2://root:…@db/shop"],
  ["postgres://shop@db/shop", "postgres://shop@db/shop"],
  ["./shop.db", "./shop.db"],
])("%s is shown as %s", (address, shown) => {
  expect(shownAddress(address)).toBe(shown);
});

it.each([
  ["./shop.db", "sqlite"],
  ["sqlite:shop.db", "sqlite"],
  ["FILE:///shop.db", "sqlite"],
  ["postgresql://db", "postgres"],
  ["mariadb://db", "mysql"],
  ["rediss://db", "redis"],
])("%s is the address of a %s store", (address, kind) => {
  expect(kindOfAddress(address)).toBe(kind);
});

it("an address of another scheme is refused by its scheme alone", () => {
  expect(() => kindOfAddress("mongodb://shop:hunter2@db")).toThrow(/got mongodb:…$/);
});
