/** A claim and its answer. One round trip, but for a record past its retention that the known tick does not cover. */
import { limits } from "../../core/defaults.ts";
import type { ClaimRequest, ClaimResult } from "../../core/store.ts";
import type { RedisArgument } from "./client.ts";
import { bufferOf, bytesOf, listOf, numberOf, optionalTextOf, textOf } from "./reply.ts";
import { decodeResponse, encodeSight, toMs } from "./row.ts";
import type { Ticks } from "./ticks.ts";

type Origin = Extract<ClaimResult, { outcome: "granted" }>["origin"];
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

export function microseconds(ms: number): string {
  return String(Math.ceil(ms * 1_000));
}

/** The fence, when the reply is a grant. */
export function grantedFence(reply: unknown): number | undefined {
  const [outcome, , fence] = textOf(listOf(reply)[0]).split(" ");
  return outcome === "granted" ? numberOf(fence) : undefined;
}

/** Nothing when the claim must be asked again with a tick just read. */
function claimedOf(reply: unknown): Claimed | undefined {
  const [told, one, two, three] = listOf(reply);
  const [outcome, ...parts] = textOf(told).split(" ");
  if (outcome === "granted") return grantOf(parts, one);
  const result = outcome === "clock" ? undefined : resultOf(outcome, parts.map(numberOf), one, two, three);
  return result === undefined ? undefined : { result, life: 0, formerLife: undefined };
}

function resultOf(
  outcome: string | undefined,
  [first = 0, attempts = 0, created = 0, expires = 0, now = 0]: readonly number[],
  head: unknown,
  body: unknown,
  hold: unknown,
): ClaimResult {
  switch (outcome) {
    case "completed":
      return {
        outcome,
        response: decodeResponse(head, body),
        fence: first,
        attempts,
        createdAtMs: toMs(created),
        expiresAtMs: toMs(expires),
        expiresInMs: Math.max(0, toMs(expires - now)),
      };
    case "processing":
      return { outcome, leaseLeftMs: Math.ceil(first / 1_000), attempts };
    case "unknown": {
      const holdReason = optionalTextOf(hold);
      return {
        outcome,
        ...(head === null || head === undefined ? {} : { interim: decodeResponse(head, body) }),
        ...(holdReason === undefined ? {} : { holdReason }),
        fence: first,
        attempts,
      };
    }
    case "mismatch":
      return { outcome };
    default:
      throw new TypeError("expected an outcome from Redis");
  }
}

function grantOf([name, ...parts]: readonly string[], canonical: unknown): Claimed {
  const [fence = 0, attempt = 0, stepsStarted = 0, created = 0, expires = 0, life = 0] = parts
    .slice(0, -1)
    .map(numberOf);
  const former = parts.at(-1);
  return {
    result: {
      outcome: "granted",
      fence,
      attempt,
      origin: origins.find((each) => each === name) ?? "lapsed",
      stepsStarted,
      canonical: bytesOf(canonical),
      createdAtMs: toMs(created),
      expiresAtMs: toMs(expires),
    },
    life,
    formerLife: former === "-" ? undefined : numberOf(former),
  };
}
