import { expect } from "vitest";
import type { Reply } from "./shop.ts";

/** A refusal as every client may rely on it. */
export function expectProblem(reply: Reply, status: number, code: string): void {
  expect(reply.status, reply.text).toBe(status);
  expect(reply.headers.get("content-type")).toBe("application/problem+json");
  expect(reply.body).toMatchObject({ status, code });
  expect(URL.canParse(String(reply.body.type))).toBe(true);
  expect(reply.headers.get("idempotency-replayed")).toBeNull();
  expect(reply.text).not.toMatch(/node_modules|\.ts:\d/);
}
