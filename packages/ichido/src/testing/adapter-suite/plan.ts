/**
 * What a request asks the harness's handler to do, sent in the header `X-Plan`. Headers are no part of the fingerprint,
 * so two requests that are the same for ichido can behave differently.
 */
import type { Context } from "../../core/contract/context.ts";

export interface Plan {
  /** How often the effect counter goes up. Default 1. */
  readonly effects?: number;
  /** Where it is counted, among cases that share a server. */
  readonly tally?: string;
  /** The handler throws `before` or `after` the effect. */
  readonly throws?: "before" | "after";
  /** The status that the thrown error carries, where the framework's error handling reads one. */
  readonly throwsStatus?: number;
  /** The handler waits, before its effect, until the test opens this gate. */
  readonly gate?: string;
  readonly sleepMs?: number;
  readonly status?: number;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly content?: Content;
  /**
   * How the answer is written; default `send`. Others are the framework's own and named by the subject (`subject.ts`).
   */
  readonly way?: string;
  /** The event stream of the answer waits here after its first event. */
  readonly eventsGate?: string;
  /** An early hint (103) goes before the answer. */
  readonly hints?: boolean;
  /** The handler says that nothing happened. */
  readonly release?: boolean;
  /** An attempt whose fence is not the greatest is refused the effect. */
  readonly fenced?: boolean;
  /** The effect is made inside `ctx.step`; `throws: "after"` then throws after the step. */
  readonly step?: string;
  /** The effect and the answer are committed together by `ctx.transaction`. */
  readonly transaction?: boolean;
  /** The handler says that the outcome is open and gives this interim answer. */
  readonly unknown?: boolean;
  /** The handler asks for `If-Match` and changes the version of the target. */
  readonly conditional?: boolean;
}

export type Content =
  | { readonly plain: string }
  | { readonly base64: string }
  | { readonly json: unknown }
  /** A JSON object with a text of this many characters. */
  | { readonly text: number }
  /** This many bytes of every value, the same for the same seed. */
  | { readonly random: number; readonly seed: number }
  | { readonly none: true };

/** What a framework hands to the handler. */
export interface HarnessCall {
  readonly method: string;
  /** Path and query as the client sent them. */
  readonly target: string;
  header(name: string): string | undefined;
  /** What the framework's parser made of the body. */
  readonly body: unknown;
  readonly idempotency: Context | undefined;
}

/** What a framework must write, in the way that is asked for. */
export interface HarnessAnswer {
  readonly status: number;
  /** Names may repeat. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** The value behind the body, where it is JSON. */
  readonly json: unknown;
  /** Three server-sent events, for the ways `events` and `flush`. */
  readonly events: AsyncIterable<string>;
  readonly way: string;
  readonly hints: boolean;
}

/** The answer leaves while the handler still makes it. */
export function isLive(way: string): boolean {
  return way === "flush" || /^events\b/.test(way);
}

/** False for live streams, and for ways that are no complete answer by themselves. */
export function isReplayed(way: string): boolean {
  return !isLive(way) && way !== "hints";
}

export const planHeader = "x-plan";

export function readPlan(header: string | undefined): Plan {
  return header === undefined ? {} : (JSON.parse(decodeURIComponent(header)) as Plan);
}

export function writePlan(plan: Plan): string {
  return encodeURIComponent(JSON.stringify(plan));
}

/** A linear congruential generator: all byte values occur, and every process gets the same ones. */
export function sampleBytes(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed >>> 0;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

export function contentBytes(content: Content): Uint8Array {
  if ("plain" in content) return Buffer.from(content.plain);
  if ("text" in content) return Buffer.from(JSON.stringify({ text: "x".repeat(content.text) }));
  if ("base64" in content) return Buffer.from(content.base64, "base64");
  if ("json" in content) return Buffer.from(JSON.stringify(content.json) ?? "");
  if ("random" in content) return sampleBytes(content.random, content.seed);
  return new Uint8Array(0);
}
