/** A claim and its answer. One round trip, but for a record past its retention that the known tick does not cover. */
import type { ClaimOrigin, ClaimRequest, ClaimResult } from "../../core/contract/store.ts";
import { completedOf, grantedOf, processingOf, unknownOf } from "../../core/record-machine/claim.ts";
import { originOf, toMs, usOf } from "../../core/record-machine/record.ts";
import type { RedisArgument } from "../../drivers/redis/client.ts";
import { bufferOf, bytesOf, listOf, numberOf, optionalTextOf, textOf } from "../../drivers/redis/reply.ts";
import { damagedRecord, decodeResponse, encodeFirstClaim } from "./row.ts";
import type { Ticks } from "./ticks.ts";

export type Decode = (reply: unknown) => ClaimResult | Promise<ClaimResult>;

export function claim(
  request: ClaimRequest,
  ticks: Ticks,
  margin: string,
  run: (args: readonly RedisArgument[], decode: Decode) => Promise<ClaimResult>,
): Promise<ClaimResult> {
  const firstClaim = encodeFirstClaim(request);
  const askAgain = async (): Promise<ClaimResult> => {
    await ticks.read();
    return run(argsOf(request, firstClaim, ticks.known(), "1", margin), (reply) => {
      const second = claimedOf(reply);
      if (second === undefined) throw new TypeError("a claim that carries a tick just read is always answered");
      return second;
    });
  };
  return run(argsOf(request, firstClaim, ticks.known(), "", margin), (reply) => claimedOf(reply) ?? askAgain());
}

function argsOf(
  request: ClaimRequest,
  firstClaim: string,
  [last, interval, steadySince]: ReturnType<Ticks["known"]>,
  read: "" | "1",
  margin: string,
): RedisArgument[] {
  const { raw, canonical, former } = request.fingerprint;
  return [
    request.owner,
    bufferOf(raw),
    bufferOf(canonical),
    former === undefined ? "" : bufferOf(former),
    microseconds(request.leaseMs),
    microseconds(request.retentionMs),
    request.takeover,
    firstClaim,
    last,
    interval,
    steadySince,
    read,
    margin,
    request.doubtStays === true ? "1" : "",
  ];
}

export function microseconds(ms: number): string {
  return String(usOf(ms));
}

/** What giving a grant back needs to know. */
export interface Grant {
  readonly origin: ClaimOrigin;
  readonly fence: number;
}

/** Nothing when the reply is no grant. */
export function grantIn(reply: unknown): Grant | undefined {
  const [outcome, origin = "", fence] = textOf(listOf(reply)[0]).split(" ");
  return outcome === "granted" ? { origin: originOf(origin), fence: numberOf(fence) } : undefined;
}

/** Nothing when the claim must be asked again with a tick just read. */
function claimedOf(reply: unknown): ClaimResult | undefined {
  const list = listOf(reply);
  const parts = textOf(list[0]).split(" ");
  if (parts[0] === "granted") return grantOf(parts, list[1]);
  if (parts[0] === "clock") return undefined;
  return resultOf(parts, list[1], list[2], list[3]);
}

function resultOf(parts: readonly string[], head: unknown, body: unknown, hold: unknown): ClaimResult {
  const [outcome, first, attempts] = parts;
  switch (outcome) {
    case "completed":
      return completedOf({
        outcome,
        response: decodeResponse(head, body),
        fence: numberOf(first),
        attempts: numberOf(attempts),
        createdAtMs: toMs(numberOf(parts[3])),
        expiresAtMs: toMs(numberOf(parts[4])),
        expiresInMs: toMs(numberOf(parts[4]) - numberOf(parts[5])),
      });
    case "processing":
      return processingOf(numberOf(first) / 1_000, numberOf(attempts));
    case "unknown": {
      const interim = head === null || head === undefined ? undefined : decodeResponse(head, body);
      return unknownOf(numberOf(first), numberOf(attempts), interim, optionalTextOf(hold));
    }
    case "mismatch":
      return { outcome };
    default:
      throw new TypeError(outcome === "damaged" ? damagedRecord : "expected an outcome from Redis");
  }
}

/** `granted origin fence attempt steps created expires resent` */
function grantOf(parts: readonly string[], canonical: unknown): ClaimResult {
  const told = {
    outcome: "granted",
    fence: numberOf(parts[2]),
    attempt: numberOf(parts[3]),
    origin: originOf(parts[1] ?? ""),
    stepsStarted: numberOf(parts[4]),
    canonical: bytesOf(canonical),
    createdAtMs: toMs(numberOf(parts[5])),
    expiresAtMs: toMs(numberOf(parts[6])),
  } as const;
  return grantedOf(told, parts[7] === "1");
}
