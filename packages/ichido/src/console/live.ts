/**
 * Requests as they are answered, by server-sent events. A listener reads the attempt log at its own pace, so that nothing
 * is kept for one that is slow, and goes on where it was by the id of the last event. A stream ends after some minutes:
 * the browser comes again, and is asked again who it is.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { IchidoEvent } from "../core/contract/events.ts";
import type { LiveMessage } from "./contract.ts";
import type { Asked, ConsoleParts } from "./parts.ts";
import { storeProblem } from "./gate.ts";
import { Problem } from "./problem.ts";
import { attemptView } from "./views.ts";

const everyMs = 1_000;
const heartbeatMs = 15_000;
const streamMs = 300_000;
const pageMax = 200;
/** Of this process's own requests, for one listener. */
const keptMax = 500;

export function frameOf(message: LiveMessage, id?: string): string {
  // JSON has no line breaks of its own, so that what strangers sent cannot end a frame.
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${message.type}\ndata: ${JSON.stringify(message)}\n\n`;
}

type Source = (signal: AbortSignal) => AsyncGenerator<string>;

/** Of all processes, from the attempt log. Only the last of a page has an id: whoever resumes sees some twice, misses none. */
function fromLog(parts: ConsoleParts, from: string | undefined): Source {
  return async function* follow(signal) {
    let cursor = from;
    const sinceMs = performance.now();
    while (!signal.aborted) {
      try {
        // An empty log has no cursor yet: its first entries must not be missed.
        const where = cursor === undefined ? { fromAgoMs: Math.ceil(performance.now() - sinceMs) } : { cursor };
        const page = await parts.store.follow({ limit: pageMax, ...where });
        cursor = page.cursor ?? cursor;
        for (const [index, entry] of page.entries.entries()) {
          const isLast = index === page.entries.length - 1;
          yield frameOf({ type: "attempt", attempt: attemptView(parts, entry) }, isLast ? cursor : undefined);
        }
        if (page.entries.length === pageMax) continue;
      } catch (error) {
        yield frameOf({ type: "trouble", message: storeProblem(error).message });
      }
      yield "";
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  };
}

type Heard = Extract<IchidoEvent, { readonly type: "request" }>;

/** Of this process alone: without the attempt log nothing else is known, and no record is named. */
function fromProcess(parts: ConsoleParts): Source {
  return async function* hear(signal) {
    const kept: (readonly [atMs: number, event: Heard])[] = [];
    let skipped = 0;
    const off = parts.engine.on?.((event) => {
      if (event.type !== "request") return;
      if (kept.length < keptMax) kept.push([Date.now(), event]);
      else skipped += 1;
    });
    try {
      while (!signal.aborted) {
        for (const [atMs, event] of kept.splice(0)) {
          const { operation, outcome, status, durationMs: tookMs, attempt, keyHash = "", leftOpen } = event;
          const at = new Date(atMs).toISOString();
          yield frameOf({
            type: "attempt",
            attempt: { at, id: keyHash, operation, outcome, status, tookMs, attempt, leftOpen },
          });
        }
        if (skipped > 0) yield frameOf({ type: "skipped", count: skipped });
        skipped = 0;
        yield "";
        await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    } finally {
      off?.();
    }
  };
}

/** Frames as they are asked for, a comment where nothing came for a while, and an end. */
function streamOf({ parts, left }: Asked, source: Source, hello: string): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const abort = new AbortController();
  const frames = source(abort.signal);
  const untilMs = Date.now() + streamMs;
  let lastMs = Date.now();
  let isOpen = true;
  const end = (): void => {
    isOpen = false;
    clearTimeout(timer);
    parts.listeners.delete(end);
    left?.removeEventListener("abort", end);
    abort.abort();
  };
  // Also for whoever never reads, and for frameworks that do not tell when a client has gone.
  const timer = setTimeout(end, streamMs);
  timer.unref();
  parts.listeners.add(end);
  left?.addEventListener("abort", end);
  // Who left while somebody found out who they are tells it by no event any more.
  if (left?.aborted === true) end();
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(hello)),
    async pull(controller) {
      for (;;) {
        const { value = "", done } = isOpen ? await frames.next() : { done: true };
        const frame = value === "" && Date.now() - lastMs > heartbeatMs ? ": still here\n\n" : value;
        if (frame !== "") {
          lastMs = Date.now();
          controller.enqueue(encoder.encode(frame));
        }
        const isOver = done === true || Date.now() > untilMs;
        if (isOver) {
          end();
          controller.close();
        }
        if (frame !== "" || isOver) return;
      }
    },
    cancel() {
      end();
      void frames.return(undefined);
    },
  });
}

export async function live(asked: Asked): Promise<Response> {
  const query = asked.query("cursor");
  const { parts } = asked;
  const from = asked.header("last-event-id") ?? query.text("cursor");
  if (parts.listeners.size >= parts.settings.listenersMax)
    throw new Problem("busy", "too many Live screens are open on this process; close one", { status: 429 });
  const isLogged = parts.link.isLogged;
  if (from !== undefined && isLogged) {
    // Refused now, as an answer, where it is no cursor.
    await parts.store.follow({ limit: 1, cursor: from });
  }
  const source = isLogged ? fromLog(parts, from) : fromProcess(parts);
  const hello = frameOf({ type: "hello", source: isLogged ? "log" : "process", now: new Date().toISOString() });
  return new Response(streamOf(asked, source, `retry: 2000\n${hello}`), {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
  });
}
