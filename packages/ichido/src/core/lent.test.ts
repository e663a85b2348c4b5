import { expect, it } from "vitest";
import { tellFree, whenFree } from "./lent.ts";

it("whoever waits for a connection is told once, between two transactions, unless they have left", () => {
  const connection = {};
  const told: string[] = [];
  tellFree(connection);
  whenFree(connection, () => {
    told.push("first");
    whenFree(connection, () => told.push("first again"));
  });
  const leave = whenFree(connection, () => told.push("second"));
  whenFree({}, () => told.push("of another connection"));
  leave();
  tellFree(connection);
  expect(told).toEqual(["first"]);
  tellFree(connection);
  tellFree(connection);
  expect(told).toEqual(["first", "first again"]);
});
