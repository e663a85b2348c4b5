import { expect, it } from "vitest";
import type { IchidoEvent } from "../contract/events.ts";
import { levelOf } from "./log-levels.ts";

const request = { type: "request", operation: "a", keyHash: "h", observed: false, status: 200, durationMs: 1 } as const;
const of = { operation: "a", keyHash: "h" } as const;
const reconciled = { type: "reconciled", ...of } as const;
const drained = { type: "drained", tookMs: 1, handlers: 0, transactions: 0 } as const;

it.each<[IchidoEvent, string]>([
  [{ ...request, outcome: "store_error", status: 503 }, "error"],
  [{ ...request, outcome: "store_error" }, "error"],
  [{ ...request, outcome: "outcome_unknown" }, "warn"],
  [{ ...request, outcome: "response_not_stored" }, "warn"],
  [{ ...request, outcome: "executed", status: 500 }, "warn"],
  [{ ...request, outcome: "executed", status: 499 }, "info"],
  [{ ...request, outcome: "bypassed", status: undefined }, "info"],
  [{ type: "not-stored", ...of, error: 1 }, "error"],
  [{ type: "takeover", ...of, attempt: 2 }, "warn"],
  [{ type: "lease-lost", ...of, reason: "stale" }, "warn"],
  [{ type: "fence-rejected", ...of, verb: "complete" }, "warn"],
  [{ type: "warning", code: "x", message: "y" }, "warn"],
  [{ ...reconciled, outcome: "held" }, "warn"],
  [{ ...reconciled, outcome: "adopted" }, "info"],
  [{ ...drained, clean: true }, "info"],
  [{ ...drained, clean: false }, "warn"],
  [{ type: "sweep", deleted: 1, guarded: false }, "debug"],
  [{ type: "store-call", store: "memory", verb: "claim", durationMs: 1 }, "debug"],
])("the level of %j is %s", (event, level) => {
  expect(levelOf(event)).toBe(level);
});
