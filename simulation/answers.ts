/** What every answer that leaves a server is held against: the record, and nobody else's. */
import type { Machine } from "./machine.ts";
import type { WebRequest, WebResponse } from "./service.ts";
import { isSealed, type World } from "./world.ts";

export interface Problem {
  readonly code?: string;
  readonly retryable?: boolean;
}

export function headerIn(response: Pick<WebResponse, "headers">, name: string): string | undefined {
  return response.headers.find(([each]) => each === name)?.[1];
}

export function problemIn(response: Pick<WebResponse, "headers" | "body">): Problem | undefined {
  if (!(headerIn(response, "content-type") ?? "").includes("problem+json")) return undefined;
  return JSON.parse(response.body) as Problem;
}

/** The answer of the operation itself, not of the layer nor in between. */
export function isFinal(response: WebResponse): boolean {
  if (response.by === "replay") return true;
  return response.by === "handler" && (response.status < 300 || response.status === 402);
}

export function judgeResponse(world: World, request: WebRequest, response: WebResponse, startedMs: number): void {
  const { route } = request;
  const seen = world.seenOf({ key: request.key as never, principal: request.principal, operation: route.operation });
  world.counts.answers += 1;
  const problem = problemIn(response);
  world.note(
    `answer to ${request.intent}: ${response.status} by ${response.by} ${problem?.code ?? ""}${problem?.retryable === false ? " final" : ""}`,
  );
  if (response.by === "replay") world.counts.replays += 1;
  // What another attempt stored may also be given in place of what a late one made.
  const isStored = [...seen.answers.values()].includes(response.body);
  // A function call has no header by which it could be told that its value was not kept.
  const isTold = response.by === "replay" || route.via === "http";
  if (
    isFinal(response) &&
    isTold &&
    headerIn(response, "idempotency-stored") === undefined &&
    !isStored &&
    !seen.isForgotten
  ) {
    world.violate("answer-not-stored", `${seen.id}: ${response.by} ${response.body}`);
  }
  if (problem?.code === "response-not-stored") {
    if (!seen.isForgotten) world.violate("answer-not-stored", `${seen.id}: it is said to have been done`);
    return;
  }
  if (response.by === "replay" && route.via === "http") judgeReplay(world, request, response);
  const isPast = isStored && seen.answers.get(seen.life) !== response.body && seen.bornMs < startedMs;
  // By a clock that jumped or runs at another speed, what is remembered here may end a little later than there.
  if (isPast && response.by === "replay" && !world.hasJumped && world.plan.drift === 0) {
    world.violate("answer-expired", `${seen.id}: ${response.body} is of a former life`);
  }
  if (problem?.code === "idempotency-key-reused") {
    // A record tells what its own life was begun for, whatever the key was used for before.
    const owner = world.runs.find(({ id, fence }) => id === seen.id && fence === seen.record?.fence);
    const isOwn = seen.bornMs < startedMs && owner?.intent === request.intent;
    if (isOwn || seen.intents.size === 1) {
      world.violate("reused-untrue", `${seen.id}: ${request.intent} is what it was asked for`);
    }
  }
  if ((isFinal(response) || isStored) && !response.body.includes(`"intent":${JSON.stringify(request.intent)}`)) {
    world.violate("answer-foreign", `${request.intent} was answered ${response.body}`);
  }
  if (problem?.code === "outcome-unknown" && problem.retryable === false && route.via === "http") {
    const wasSealed = isSealed(seen.record) || seen.sealedUntilMs >= startedMs;
    const isOwn = world.runs.some((run) => run.id === seen.id && run.isOpen && (run.endedMs ?? startedMs) >= startedMs);
    if (route.onUnknown !== "hold" && !wasSealed && !isOwn) {
      world.violate("untrue-final", `${seen.id} under ${route.onUnknown}: told that it is not run again`);
    }
  }
}

function judgeReplay(world: World, { route, intent }: WebRequest, response: WebResponse): void {
  const created = route.profile === "adr-007" ? 200 : 201;
  const isKnown = response.status === created || (response.status === 402 && route.ending === "declined");
  if (!isKnown || headerIn(response, "idempotency-replayed") !== "true") {
    world.violate("replay-changed", `${intent}: ${response.status} ${JSON.stringify(response.headers)}`);
  }
}

const spareMs = 5;

/** What a process gives from its memory, without a word of the store, it gives for no longer than the store keeps it. */
export function judgeRemembered(
  world: World,
  machine: Machine,
  { route, key, principal }: WebRequest,
  { by, body }: WebResponse,
  startedMs: number,
): void {
  if (by !== "replay" || world.hasJumped) return;
  const seen = world.seenOf({ key: key as never, principal, operation: route.operation });
  const endMs = seen.endsMs.get(body);
  if (endMs === undefined || (seen.heardMs.get(machine) ?? -1) >= startedMs) return;
  const toleranceMs = spareMs + route.retentionMs * Math.abs(world.plan.drift) * 1.1;
  const overMs = world.storeNowMs() - endMs;
  if (overMs > toleranceMs) {
    world.violate("remembered-too-long", `${seen.id}: ${machine.name} gives ${body}, which ended ${overMs} ms ago`);
  }
}
