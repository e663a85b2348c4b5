import { expect, test } from "vitest";
import { askedOf, inputOf } from "../src/question.ts";

const nowMs = Date.parse("2026-11-18T15:00:00Z");
const asked = (input: string): unknown => askedOf(input, nowMs, true);

test.each([
  ["cus_42", { text: "cus_42" }],
  ["  customer=cus_42 ", { text: "customer=cus_42" }],
  ["6f1c2b1e-8a44-4a5e-9d0e-5d2b8f3c7a10", { text: "6f1c2b1e-8a44-4a5e-9d0e-5d2b8f3c7a10" }],
  // The number of an order, not an amount.
  ["4711", { text: "4711" }],
  ["42.00", { text: "42.00" }],
  ["42.00 14:05", { amount: "42.00", at: "2026-11-18T14:05:00.000Z" }],
  ["42 14:05", { amount: "42", at: "2026-11-18T14:05:00.000Z" }],
  ["cus_42  42.00  today 14:05", { text: "cus_42", amount: "42.00", at: "2026-11-18T14:05:00.000Z" }],
  ["cus_42 €42 yesterday 9:30", { text: "cus_42", amount: "42", at: "2026-11-17T09:30:00.000Z" }],
  ["1,234.50 EUR 2026-11-01 08:00", { amount: "1234.50", at: "2026-11-01T08:00:00.000Z" }],
  // Still to come today: it was yesterday's.
  ["42.00 23:59", { amount: "42.00", at: "2026-11-17T23:59:00.000Z" }],
  ["昨日 9:30 4200円", { amount: "4200", at: "2026-11-17T09:30:00.000Z" }],
  // A day inside of a name is a part of the name.
  ["order-2026-11-18-0042", { text: "order-2026-11-18-0042" }],
  ["anna@example.com-2026-11-18", { text: "anna@example.com-2026-11-18" }],
  ["customer=2026-11-18", { text: "customer=2026-11-18" }],
  ["ord:14:05:11", { text: "ord:14:05:11" }],
  ["inv-42.00", { text: "inv-42.00" }],
  ["", {}],
])("%j is understood", (input, expected) => {
  expect(asked(input)).toEqual(expected);
});

test("what the field shows of an address is the same question again", () => {
  const question = { text: "cus_42", amount: "42.00", at: "2026-11-18T14:05:00.000Z" };
  expect(asked(inputOf(question))).toEqual(question);
});
