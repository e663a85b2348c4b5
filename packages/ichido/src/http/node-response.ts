/**
 * Captures what a handler writes on a Node response, by any of its methods, and holds it until the outcome is recorded.
 * The wrappers stay on the response and become plain calls once the answer goes out, so that layers wrapped around
 * them, before or after, keep working.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Execution, HandlerOutcome, Settled } from "../core/contract/decision.ts";
import type { AnswerHead, NeutralResponse } from "../core/contract/message.ts";
import type { HeaderLine } from "../core/contract/record.ts";
import {
  isEventStream,
  takeAnswer,
  type Content,
  type HandedAnswer,
  type Settling,
  type Taken,
} from "./handed-answer.ts";
import { dropConnectionLines } from "./http2.ts";
import { isHttp2 } from "./node-request.ts";
import { AnswerBuffer, ResponseHold } from "./response-hold.ts";
import {
  callbackOf,
  checkReason,
  checkStatus,
  chunkBytes,
  hasContent,
  headersSent,
  writeAfterEnd,
  writeHeadLines,
  type Callback,
  type HeaderSource,
} from "./send.ts";

export interface CaptureSettings {
  /** How long a half-written answer to a client that went away may stay silent before it counts as broken off. */
  readonly quietMs: number;
  /** Gets an answer that the context made, where nothing was written yet. After `not-taken` it goes on the response. */
  readonly provide?: ((answer: NeutralResponse) => "taken" | "not-taken") | undefined;
}

/** The capture, for an adapter whose framework hands answers over before it writes them. */
export interface Capture {
  /** Undefined where the handler wrote on the response itself: then that is captured as usual. */
  hand(answer: HandedAnswer): Promise<Taken | undefined>;
  /** The handler's own header lines, from the place where the framework keeps them. */
  linesOf(headers: HeaderSource): readonly HeaderLine[];
  /** After `provide`: removes what the handler set; what is written from now on goes out. */
  open(): void;
}

export const quietMsDefault = 30_000;

/** `opening`: the tombstone is being stored, then bytes go live. `over`: what the handler still writes goes nowhere. */
type Phase = "holding" | "settling" | "opening" | "live" | "over";

const capturing = Symbol("ichido.capture");
type CapturedResponse = ServerResponse & { [capturing]?: ResponseCapture };

type Wrapped = "write" | "end" | "writeHead" | "flushHeaders" | "destroy";

const wrappedNames = ["write", "end", "writeHead", "flushHeaders", "destroy"] as const satisfies readonly Wrapped[];

/** One function for all responses: a function of its own on each of them would keep it from being collected early. */
function sharedMethod(name: Wrapped): (this: CapturedResponse, ...values: unknown[]) => unknown {
  return function method(...values) {
    return this[capturing]?.[name](values);
  };
}

const sharedMethods = Object.fromEntries(wrappedNames.map((name) => [name, sharedMethod(name)]));

/** Of two captures on one response, the inner one needs functions that know it from the outer one. */
function wrapMethods(response: CapturedResponse, capture: ResponseCapture): void {
  const isFirst = response[capturing] === undefined;
  if (isFirst) response[capturing] = capture;
  const methods = response as unknown as Record<string, unknown>;
  for (const name of wrappedNames) {
    methods[name] = isFirst ? sharedMethods[name] : (...values: unknown[]) => capture[name](values);
  }
  methods["writeHeader"] = methods["writeHead"];
}

class ResponseCapture implements Capture {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #execution: Execution;
  readonly #settings: CaptureSettings;
  readonly #hold: ResponseHold;
  readonly #buffer = new AnswerBuffer();
  #phase: Phase = "holding";
  #head: AnswerHead | undefined;
  #ended = false;
  /** What is being read of an answer that was handed over. */
  #handed: Content | undefined;
  #quiet: NodeJS.Timeout | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, execution: Execution, settings: CaptureSettings) {
    this.#request = request;
    this.#response = response;
    this.#execution = execution;
    this.#settings = settings;
    this.#hold = new ResponseHold(request, response, () => this.#watchQuiet());
    wrapMethods(response, this);
    execution.onProvided((answer) => this.#sendProvided(answer));
  }

  async hand(answer: HandedAnswer): Promise<Taken | undefined> {
    if (this.#phase !== "holding" || this.#head !== undefined) return undefined;
    this.#head = answer;
    this.#handed = answer.content;
    // Frameworks look whether an answer is on its way, and would send another one.
    this.#hold.closeHead();
    this.#hold.closeBody();
    this.#watchQuiet();
    try {
      const taken = await takeAnswer(this.#settling(), answer, () => this.#watchQuiet());
      if (taken.kind === "replace") this.open();
      else this.#goOut();
      return taken;
    } catch (error) {
      // The content itself failed: the framework's own error answer becomes the answer.
      this.#handed = undefined;
      if (this.#phase === "holding") {
        this.#head = undefined;
        this.#hold.reopen();
      }
      throw error;
    }
  }

  /** Once the handed answer is complete, nothing else can become the answer. */
  #settling(): Settling {
    const execution = this.#execution;
    const closing = <Value>(value: Value): Value => {
      clearTimeout(this.#quiet);
      this.#phase = "settling";
      this.#ended = true;
      this.#hold.keepConnection();
      return value;
    };
    return {
      bodyBytesMax: execution.bodyBytesMax,
      settle: (outcome) => execution.settle(closing(outcome)),
      beginStream: (head) => execution.beginStream(closing(head)),
    };
  }

  linesOf(headers: HeaderSource): readonly HeaderLine[] {
    return this.#hold.linesOf(headers);
  }

  open(): void {
    this.#goOut();
    this.#hold.restore();
  }

  #goOut(): void {
    this.#phase = "live";
    this.#hold.open();
  }

  writeHead(values: readonly unknown[]): ServerResponse {
    const response = this.#response;
    if (this.#phase === "live") return this.#hold.outer.writeHead(...values);
    if (this.#phase === "over") return response;
    if (this.#head !== undefined) throw headersSent();
    const [given, reason, headers] = values;
    const status = checkStatus(given);
    const isReasoned = !isHttp2(this.#request);
    if (isReasoned && typeof reason === "string") response.statusMessage = reason;
    const lines = writeHeadLines(typeof reason === "string" ? headers : (headers ?? reason));
    // A name in `lines` replaces what was set before; `lines` itself may have the name several times.
    for (const [name] of lines) if (response.hasHeader(name)) response.removeHeader(name);
    for (const [name, value] of lines) response.appendHeader(name, value as string);
    if (isReasoned) checkReason(response.statusMessage);
    else dropConnectionLines(response);
    response.statusCode = status;
    this.#head = this.#hold.closeHead();
    this.#watchQuiet();
    return response;
  }

  /** By the outermost `writeHead`, so that layers mounted after this one add their headers before they are captured. */
  #closeHead(): AnswerHead {
    if (this.#head === undefined) this.#response.writeHead(this.#response.statusCode);
    if (this.#head === undefined) this.writeHead([this.#response.statusCode]);
    return this.#head as unknown as AnswerHead;
  }

  write(values: readonly unknown[]): boolean {
    if (this.#phase === "live") return this.#hold.outer.write(...values);
    const callback = callbackOf(values);
    const bytes = chunkBytes(values[0], values[1]);
    if (this.#phase === "over") return done(callback);
    if (this.#ended) return this.#failAfterEnd(callback);
    if (this.#phase === "opening") return this.#wait(bytes, callback);
    const { status } = this.#closeHead();
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

  end(values: readonly unknown[]): ServerResponse {
    const response = this.#response;
    if (this.#phase === "live") return this.#hold.outer.end(...values);
    const callback = callbackOf(values);
    const hasChunk = values[0] !== undefined && values[0] !== null && typeof values[0] !== "function";
    const bytes = hasChunk ? chunkBytes(values[0], values[1]) : undefined;
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
    const { status } = this.#closeHead();
    if (callback !== undefined) response.once("finish", callback);
    this.#ended = true;
    clearTimeout(this.#quiet);
    this.#hold.closeBody();
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

  flushHeaders(): void {
    if (this.#phase === "live") {
      this.#hold.outer.flushHeaders();
    } else if (this.#phase === "holding") {
      this.#closeHead();
      this.#openStream();
    }
  }

  destroy([given]: readonly unknown[]): ServerResponse {
    const error = given as Error | undefined;
    const response = this.#response;
    if (this.#isGivenUp(error)) {
      this.#hold.noteClosed();
    } else if (this.#phase === "holding") {
      const reason = error ?? new Error("the response was destroyed before an answer was given");
      this.#phase = "over";
      void this.#settle({ kind: "threw", error: reason }).then(() => this.#abandon(error));
    } else if (this.#ended) {
      response.once("finish", () => this.#hold.outer.destroy(error));
    } else if (this.#phase === "opening") {
      this.#phase = "over";
    } else {
      this.#hold.outer.destroy(error);
    }
    return response;
  }

  /** Node gives up a pipelined answer whose connection closed while earlier answers were still being sent. */
  #isGivenUp(error: Error | undefined): boolean {
    const socket = this.#request.socket as { _httpMessage?: ServerResponse | null } | undefined;
    const isWaiting = socket?._httpMessage !== undefined && socket._httpMessage !== this.#response;
    return isWaiting && (error as NodeJS.ErrnoException | undefined)?.code === "ECONNRESET";
  }

  #failAfterEnd(callback: Callback | undefined): false {
    const error = writeAfterEnd();
    process.nextTick(() => {
      callback?.(error);
      // Without a listener this event would end the process, although the answer is complete.
      if (this.#response.listenerCount("error") > 0) this.#response.emit("error", error);
    });
    return false;
  }

  #cannotHold(length: number): boolean {
    const response = this.#response;
    const type = response.getHeader("content-type");
    const declared = Number(response.getHeader("content-length") ?? 0);
    const cap = this.#execution.bodyBytesMax;
    return (
      isEventStream(type === undefined ? type : String(type)) || declared > cap || this.#buffer.bytes + length > cap
    );
  }

  #wait(bytes: Uint8Array, callback: Callback | undefined): boolean {
    return this.#buffer.wait(bytes, callback, this.#response.writableHighWaterMark);
  }

  #settle(outcome: HandlerOutcome): Promise<Settled> {
    clearTimeout(this.#quiet);
    return this.#execution.settle(outcome);
  }

  #settleAnswer(): void {
    const head = this.#closeHead();
    const body = this.#buffer.take();
    this.#phase = "settling";
    this.#hold.keepConnection();
    void this.#settle({ kind: "answered", response: { ...head, body } }).then((settled) => {
      if (settled.kind === "replace") return this.#sendInstead(settled.response);
      this.#phase = "live";
      return this.#hold.sendHeld(head, settled.addHeaders, body);
    });
  }

  /** The context made the answer. If the handler's own answer is being settled meanwhile, the result is the same. */
  #sendProvided(answer: NeutralResponse): void {
    if (this.#phase !== "holding" || this.#handed !== undefined) return;
    clearTimeout(this.#quiet);
    this.#hold.keepConnection();
    const { provide } = this.#settings;
    this.#phase = "over";
    if (this.#head === undefined && provide?.(answer) === "taken") return;
    this.#sendInstead(answer);
  }

  #sendInstead(answer: NeutralResponse): void {
    this.#phase = "over";
    this.#buffer.drop();
    this.#hold.sendInstead(answer);
  }

  #openStream(): void {
    const head = this.#closeHead();
    this.#phase = "opening";
    clearTimeout(this.#quiet);
    void this.#execution.beginStream(head).then((settled) => {
      if (this.#phase === "over") return this.#abandon(undefined);
      if (settled.kind === "replace") return this.#sendInstead(settled.response);
      this.#phase = "live";
      return this.#hold.goLive(head, settled.addHeaders, this.#buffer, this.#ended);
    });
  }

  /** Runs only while the client is gone, the answer is begun and nothing more is written. */
  #watchQuiet(): void {
    if (!this.#hold.isAbandoned || this.#head === undefined || this.#phase !== "holding") return;
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      if (this.#phase !== "holding") return;
      this.#phase = "over";
      if (this.#handed instanceof Readable) this.#handed.destroy(new Error("the answer went quiet"));
      void this.#settle({ kind: "interrupted" }).then(() => this.#abandon(undefined));
    }, this.#settings.quietMs).unref();
  }

  #abandon(error: Error | undefined): void {
    this.#buffer.drop();
    this.#hold.abandon(error);
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
): Capture {
  return new ResponseCapture(request, response, execution, settings);
}
