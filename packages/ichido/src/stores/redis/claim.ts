/** A claim and its answer. One round trip, but for a record past its retention that the known tick does not cover. */
import { limits } from "../../core/defaults.ts";
import type { ClaimRequest, ClaimResult } from "../../core/store.ts";
import type { RedisArgument } from "./client.ts";
import { bufferOf, bytesOf, listOf, numberOf, optionalTextOf, textOf } from "./reply.ts";
import { decodeResponse, encodeSight, toMs } from "./row.ts";
import type { Ticks } from "./ticks.ts";

type Origin = Extract<ClaimResult, { outcome: "granted" }>["origin"];
/** Where a grant names its life. */
const lifePlace = 8;
const origins: readonly Origin[] = ["new", "own", "failed", "lapsed", "suspended"];

/** A result, and for a grant the life it belongs to: see the marker. */
export interface Claimed {
  readonly result: ClaimResult;
  readonly life: number;
  readonly formerLife: number | undefined;
}

export async function claim(
  request: ClaimRequest,
  ticks: Ticks,
  marginMs: number,
  run: (args: readonly RedisArgument[]) => Promise<unknown>,
): Promise<Claimed> {
  const { raw, canonical, former } = request.fingerprint;
  const args = (read: "" | "1"): RedisArgument[] => [
    request.owner,
    bufferOf(raw),
    bufferOf(canonical),
    former === undefined ? "" : bufferOf(former),
    microseconds(Math.min(request.leaseMs, limits.leaseMsMax)),
    microseconds(request.retentionMs),
    request.takeover,
    sight,
    ...ticks.known(),
    read,
    String(marginMs),
  ];
  const sight = encodeSight(request);
  const answer = claimedOf(await run(args("")));
  if (answer !== undefined) return answer;
  await ticks.read();
  const second = claimedOf(await run(args("1")));
  if (second === undefined) throw new TypeError("a claim that carries a tick just read is always answered");
  return second;
}

function claimedOf(reply: unknown): Claimed | undefined {
  const result = resultOf(reply);
  if (result === "clock") return undefined;
  if (result.outcome !== "granted") return { result, life: 0, formerLife: undefined };
  const [life, former] = listOf(reply).slice(lifePlace);
  const formerText = textOf(former);
  return { result, life: numberOf(life), formerLife: formerText === "" ? undefined : numberOf(formerText) };
}

export function microseconds(ms: number): string {
  return String(Math.ceil(ms * 1_000));
}

/** The fence, when the reply is a grant. */
export function grantedFence(reply: unknown): number | undefined {
  const [outcome, , fence] = listOf(reply);
  return textOf(outcome) === "granted" ? numberOf(fence) : undefined;
}

function resultOf(reply: unknown): ClaimResult | "clock" {
  const [outcome, ...values] = listOf(reply);
  switch (textOf(outcome)) {
    case "granted":
      return grantOf(values);
    case "completed": {
      const [fence, attempts, created, expires, now, head, body] = values;
      return {
        outcome: "completed",
        response: decodeResponse(head, body),
        fence: numberOf(fence),
        attempts: numberOf(attempts),
        createdAtMs: toMs(numberOf(created)),
        expiresAtMs: toMs(numberOf(expires)),
        expiresInMs: Math.max(0, toMs(numberOf(expires) - numberOf(now))),
      };
    }
    case "processing":
      return {
        outcome: "processing",
        leaseLeftMs: Math.ceil(numberOf(values[0]) / 1_000),
        attempts: numberOf(values[1]),
      };
    case "unknown": {
      const [fence, attempts, head, body, hold] = values;
      const holdReason = optionalTextOf(hold);
      return {
        outcome: "unknown",
        ...(head === null || head === undefined ? {} : { interim: decodeResponse(head, body) }),
        ...(holdReason === undefined ? {} : { holdReason }),
        fence: numberOf(fence),
        attempts: numberOf(attempts),
      };
    }
    case "mismatch":
      return { outcome: "mismatch" };
    default:
      return "clock";
  }
}

function grantOf([origin, fence, attempt, steps, canonical, created, expires]: readonly unknown[]): ClaimResult {
  const name = textOf(origin);
  return {
    outcome: "granted",
    fence: numberOf(fence),
    attempt: numberOf(attempt),
    origin: origins.find((each) => each === name) ?? "lapsed",
    stepsStarted: numberOf(steps),
    canonical: bytesOf(canonical),
    createdAtMs: toMs(numberOf(created)),
    expiresAtMs: toMs(numberOf(expires)),
  };
}
