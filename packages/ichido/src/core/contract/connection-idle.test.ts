import { expect, it } from "vitest";
import { notifyIdle, onIdle } from "./connection-idle.ts";

it("whoever waits for a connection is told once, between two transactions, unless they have left", () => {
  const connection = {};
  const told: string[] = [];
  notifyIdle(connection);
  onIdle(connection, () => {
    told.push("first");
    onIdle(connection, () => told.push("first again"));
  });
  const leave = onIdle(connection, () => told.push("second"));
  onIdle({}, () => told.push("of another connection"));
  leave();
  notifyIdle(connection);
  expect(told).toEqual(["first"]);
  notifyIdle(connection);
  notifyIdle(connection);
  expect(told).toEqual(["first", "first again"]);
});
