/**
 * Captures what a handler writes on a Node response, whatever it writes with, and holds it until the outcome is
 * recorded. The wrappers stay on the response and turn into plain calls once the answer goes out, so that layers
 * wrapped around them, before or after, keep working.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Execution, HandlerOutcome, Settled } from "../core/decision.ts";
import type { NeutralResponse } from "../core/message.ts";
import type { HeaderLine } from "../core/record.ts";
import { AnswerBuffer } from "./answer-buffer.ts";
import { deferDestroy, shieldConnection, type ConnectionShield } from "./connection-shield.ts";
import {
  headerLinesBeyond,
  replaceHeaders,
  restoreHeaders,
  setContentLength,
  snapshotHeaders,
  writeHeadLines,
  type HeaderSnapshot,
} from "./header-lines.ts";
import { hasContent, outletOf, sendAnswer, type Outlet } from "./send.ts";
import { callbackOf, chunkBytes, headersSent, invalidStatus, writeAfterEnd, type Callback } from "./write-arguments.ts";

export interface CaptureSettings {
  /** How long a half-written answer to a client that went away may stay silent before it counts as broken off. */
  readonly quietMs: number;
}

export const quietMsDefault = 30_000;

/** Parts of Node's response that its types leave out. A header text that is there means "headers sent". */
type Internals = ServerResponse & { _header: string | null; _trailer: string };

interface Head {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
}

/** `opening`: the tombstone is being stored, then bytes go live. `over`: what the handler still writes goes nowhere. */
type Phase = "holding" | "settling" | "opening" | "live" | "over";

class ResponseCapture {
  readonly #request: IncomingMessage;
  readonly #response: Internals;
  readonly #execution: Execution;
  readonly #quietMs: number;
  readonly #baseline: HeaderSnapshot;
  readonly #shield: ConnectionShield;
  readonly #outer: Outlet;
  #phase: Phase = "holding";
  #head: Head | undefined;
  readonly #buffer = new AnswerBuffer();
  #ended = false;
  #quiet: NodeJS.Timeout | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, execution: Execution, settings: CaptureSettings) {
    this.#request = request;
    this.#response = response as Internals;
    this.#execution = execution;
    this.#quietMs = settings.quietMs;
    this.#baseline = snapshotHeaders(response);
    this.#shield = shieldConnection(response, () => this.#watchQuiet());
    this.#outer = outletOf(response);
    const wrapped = response as unknown as Record<string, unknown>;
    wrapped["write"] = (...values: unknown[]) => this.#write(values);
    wrapped["end"] = (...values: unknown[]) => this.#end(values);
    wrapped["writeHead"] = (...values: unknown[]) => this.#writeHead(values);
    wrapped["writeHeader"] = wrapped["writeHead"];
    wrapped["flushHeaders"] = () => this.#flushHeaders();
    wrapped["destroy"] = (error?: Error) => this.#destroy(error);
    void execution.provided.then((answer) => this.#sendProvided(answer));
  }

  #writeHead(values: readonly unknown[]): ServerResponse {
    const response = this.#response;
    if (this.#phase === "live") return this.#outer.writeHead(...values);
    if (this.#phase === "over") return response;
    if (this.#head !== undefined) throw headersSent();
    const [given, reason, headers] = values;
    const status = Number(given) | 0;
    if (status < 100 || status > 999) throw invalidStatus(given);
    if (typeof reason === "string") response.statusMessage = reason;
    const lines = writeHeadLines(typeof reason === "string" ? headers : (headers ?? reason));
    // What is named here replaces what was set before, but may itself be named several times.
    for (const [name] of lines) if (response.hasHeader(name)) response.removeHeader(name);
    for (const [name, value] of lines) response.appendHeader(name, value as string);
    response.statusCode = status;
    this.#head = { status, headers: headerLinesBeyond(response, this.#baseline) };
    // Makes `headersSent` true and every later change of headers an error, as it would be without the hold.
    response._header = "held";
    this.#watchQuiet();
    return response;
  }

  /** By the outermost `writeHead`, so that layers mounted after this one add their headers before they are captured. */
  #commitHead(): Head {
    if (this.#head === undefined) this.#response.writeHead(this.#response.statusCode);
    if (this.#head === undefined) this.#writeHead([this.#response.statusCode]);
    return this.#head as unknown as Head;
  }

  #write(values: readonly unknown[]): boolean {
    if (this.#phase === "live") return this.#outer.write(...values);
    const callback = callbackOf(values);
    const bytes = chunkBytes(values[0], values[1], "copy");
    if (this.#phase === "over") return done(callback);
    if (this.#ended) return this.#failAfterEnd(callback);
    if (this.#phase === "opening") return this.#wait(bytes, callback);
    const { status } = this.#commitHead();
    if (!hasContent(this.#response, status)) return done(callback);
    this.#watchQuiet();
    if (this.#cannotHold(bytes.length)) {
      const wantsMore = this.#wait(bytes, callback);
      this.#openStream();
      return wantsMore;
    }
    this.#buffer.hold(bytes);
    return done(callback);
  }

  #end(values: readonly unknown[]): ServerResponse {
    const response = this.#response;
    if (this.#phase === "live") return this.#outer.end(...values);
    const callback = callbackOf(values);
    const hasChunk = values[0] !== undefined && values[0] !== null && typeof values[0] !== "function";
    const bytes = hasChunk ? chunkBytes(values[0], values[1], "keep") : undefined;
    if (this.#phase === "over") {
      done(callback);
      return response;
    }
    if (this.#ended) {
      if (hasChunk) this.#failAfterEnd(callback);
      else if (callback !== undefined) response.once("finish", callback);
      return response;
    }
    const opening = this.#phase === "opening";
    const { status } = opening ? (this.#head as Head) : this.#commitHead();
    if (callback !== undefined) response.once("finish", callback);
    this.#markEnded();
    const content = bytes !== undefined && bytes.length > 0 && hasContent(response, status) ? bytes : undefined;
    const fits = this.#buffer.bytes + (content?.length ?? 0) <= this.#execution.bodyBytesMax;
    if (opening || !fits) {
      if (content !== undefined) this.#wait(content, undefined);
      if (!opening) this.#openStream();
    } else {
      if (content !== undefined) this.#buffer.hold(content);
      this.#settleAnswer();
    }
    return response;
  }

  #flushHeaders(): void {
    if (this.#phase === "live") {
      this.#outer.flushHeaders();
    } else if (this.#phase === "holding") {
      this.#commitHead();
      this.#openStream();
    }
  }

  #destroy(error: Error | undefined): ServerResponse {
    const response = this.#response;
    const { _httpMessage: current } = this.#request.socket as { _httpMessage?: ServerResponse | null };
    if (current !== response && (error as NodeJS.ErrnoException | undefined)?.code === "ECONNRESET") {
      // Node gives up a pipelined answer whose connection closed before its turn came.
      this.#shield.noteClosed();
    } else if (this.#phase === "holding") {
      const reason = error ?? new Error("the response was destroyed before an answer was given");
      this.#phase = "over";
      void this.#settle({ kind: "threw", error: reason }).then(() => this.#abandon(error));
    } else if (this.#ended) {
      response.once("finish", () => this.#outer.destroy(error));
    } else if (this.#phase === "opening") {
      this.#phase = "over";
    } else {
      this.#outer.destroy(error);
    }
    return response;
  }

  #failAfterEnd(callback: Callback | undefined): false {
    const error = writeAfterEnd();
    process.nextTick(() => {
      callback?.(error);
      // Node would emit it even where nobody listens, and so end the process over an answer that is complete.
      if (this.#response.listenerCount("error") > 0) this.#response.emit("error", error);
    });
    return false;
  }

  #markEnded(): void {
    this.#ended = true;
    clearTimeout(this.#quiet);
    const response = this.#response;
    // `finished` stays false: Node closes connections whose message is finished when the server shuts down.
    Object.defineProperty(response, "writableEnded", { configurable: true, get: () => true });
  }

  #cannotHold(length: number): boolean {
    const response = this.#response;
    const isEventStream = /^\s*text\/event-stream\b/i.test(String(response.getHeader("content-type") ?? ""));
    const declared = Number(response.getHeader("content-length") ?? 0);
    const cap = this.#execution.bodyBytesMax;
    return isEventStream || declared > cap || this.#buffer.bytes + length > cap;
  }

  #wait(bytes: Uint8Array, callback: Callback | undefined): boolean {
    return this.#buffer.wait(bytes, callback, this.#response.writableHighWaterMark);
  }

  #settle(outcome: HandlerOutcome): Promise<Settled> {
    clearTimeout(this.#quiet);
    return this.#execution.settle(outcome);
  }

  #settleAnswer(): void {
    const { status, headers } = this.#head as Head;
    const body = this.#buffer.take();
    this.#phase = "settling";
    this.#keepConnection();
    void this.#settle({ kind: "answered", response: { status, headers, body } }).then((settled) => {
      this.#finish(() => {
        if (settled.kind === "replace") this.#sendReplacement(settled.response);
        else this.#sendHeld(settled.addHeaders, body);
      });
    });
  }

  /** The context made the answer. If the handler's own is being settled meanwhile, that comes to the same. */
  #sendProvided(answer: NeutralResponse): void {
    if (this.#phase !== "holding") return;
    clearTimeout(this.#quiet);
    this.#keepConnection();
    this.#finish(() => this.#sendReplacement(answer));
  }

  /** Until the answer has left, or cannot leave any more. */
  #keepConnection(): void {
    const release = deferDestroy(this.#request);
    let isHeld = true;
    const once = (): void => {
      if (isHeld) release();
      isHeld = false;
    };
    this.#response.once("finish", once);
    this.#response.once("close", once);
  }

  /** From here on the response is Node's again; the head is written anew by the real methods. */
  #unhold(phase: "live" | "over"): void {
    this.#phase = phase;
    this.#response._header = null;
    this.#shield.lift();
    Reflect.deleteProperty(this.#response, "writableEnded");
  }

  /** Sends, then tells the handler what the connection has become meanwhile. A dead connection is no error here. */
  #finish(send: () => void): void {
    const response = this.#response;
    const isDead = this.#shield.closed || this.#request.socket.destroyed || !this.#request.socket.writable;
    let finished = false;
    response.once("finish", () => {
      finished = true;
    });
    try {
      send();
    } catch (error) {
      // An outer layer failed on the answer. Its effect is recorded, so a retry gets it; this caller gets a cut.
      this.#outer.destroy(error as Error);
    }
    if (!isDead) return;
    process.nextTick(() => {
      // Node never finishes an answer to a dead connection: whoever awaits `finish` would wait for ever.
      if (!finished && response.socket !== null) response.emit("finish");
      this.#shield.tellClosed();
    });
  }

  #sendHeld(addHeaders: readonly HeaderLine[], body: Uint8Array): void {
    const response = this.#response;
    const { status } = this.#head as Head;
    this.#unhold("live");
    replaceHeaders(response, addHeaders);
    // Trailers need chunked framing; so does whoever chose it.
    const isFramed =
      response.hasHeader("transfer-encoding") || response.hasHeader("trailer") || response._trailer !== "";
    const content = hasContent(response, status);
    if (content && !isFramed) setContentLength(response, body.length);
    this.#outer.writeHead(status);
    this.#outer.end(content && body.length > 0 ? body : undefined);
  }

  #sendReplacement(answer: NeutralResponse): void {
    const response = this.#response;
    this.#unhold("over");
    this.#buffer.drop();
    restoreHeaders(response, this.#baseline);
    sendAnswer(response, answer, this.#outer);
  }

  #openStream(): void {
    this.#phase = "opening";
    clearTimeout(this.#quiet);
    void this.#execution.beginStream(this.#head as Head).then((settled) => {
      if (this.#phase === "over") this.#abandon(undefined);
      else if (settled.kind === "replace") this.#finish(() => this.#sendReplacement(settled.response));
      else this.#goLive(settled.addHeaders);
    });
  }

  #goLive(addHeaders: readonly HeaderLine[]): void {
    const response = this.#response;
    this.#unhold("live");
    try {
      replaceHeaders(response, addHeaders);
      this.#outer.writeHead((this.#head as Head).status);
      const isEmpty = this.#buffer.bytes === 0;
      const wantsMore = this.#buffer.pour(this.#outer);
      if (this.#ended) this.#outer.end();
      else if (isEmpty) this.#outer.flushHeaders();
      else if (wantsMore && this.#buffer.owesDrain) process.nextTick(() => response.emit("drain"));
    } catch (error) {
      this.#outer.destroy(error as Error);
    }
    this.#shield.tellClosed();
  }

  /** Runs only while the client is gone, the answer is begun and nothing more is written. */
  #watchQuiet(): void {
    if (!this.#shield.closed || this.#head === undefined || this.#phase !== "holding") return;
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      if (this.#phase !== "holding") return;
      this.#phase = "over";
      void this.#settle({ kind: "interrupted" }).then(() => this.#abandon(undefined));
    }, this.#quietMs);
    this.#quiet.unref();
  }

  #abandon(error: Error | undefined): void {
    this.#unhold("over");
    this.#buffer.drop();
    this.#outer.destroy(error);
    this.#shield.tellClosed();
  }
}

function done(callback: Callback | undefined): true {
  if (callback !== undefined) process.nextTick(callback);
  return true;
}

export function captureResponse(
  request: IncomingMessage,
  response: ServerResponse,
  execution: Execution,
  settings: CaptureSettings,
): void {
  new ResponseCapture(request, response, execution, settings);
}
