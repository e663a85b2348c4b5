/**
 * A response whose answer is held back: to its handler it looks as if the answer were on its way, to the outer layers as
 * if nothing had been written. And the ways in which the answer leaves in the end.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AnswerHead, NeutralResponse } from "../core/contract/message.ts";
import type { HeaderLine } from "../core/contract/record.ts";
import type { AnswerBuffer } from "./answer-buffer.ts";
import { deferDestroy, shieldConnection, type ConnectionShield } from "./connection-shield.ts";
import {
  headerLinesBeyond,
  restoreHeaders,
  setLayerLines,
  snapshotHeaders,
  type HeaderSnapshot,
  type HeaderSource,
} from "./header-lines.ts";
import { closeHttp2Head, isHttp2 } from "./http2.ts";
import { hasContent, outletOf, sendAnswer, tellLength, type Outlet } from "./send.ts";

/** Parts of Node's response that its types leave out. A header text that is there means "headers sent". */
type Internals = ServerResponse & { _header: string | null; _trailer?: string };

export class ResponseHold {
  /** The methods as the outer layers left them. */
  readonly outer: Outlet;
  readonly #request: IncomingMessage;
  readonly #response: Internals;
  readonly #baseline: HeaderSnapshot;
  readonly #shield: ConnectionShield;
  #openHead: () => void = () => undefined;

  constructor(request: IncomingMessage, response: ServerResponse, onClosed: () => void) {
    this.#request = request;
    this.#response = response as Internals;
    this.#baseline = snapshotHeaders(response);
    this.#shield = shieldConnection(response, onClosed);
    this.outer = outletOf(response);
  }

  /** The client has gone; the handler does not know. */
  get isAbandoned(): boolean {
    return this.#shield.closed;
  }

  noteClosed(): void {
    this.#shield.noteClosed();
  }

  /** Makes `headersSent` true and every later change of headers an error, as it would be without the hold. */
  closeHead(): AnswerHead {
    const response = this.#response;
    const head = { status: response.statusCode, headers: headerLinesBeyond(response, this.#baseline) };
    if (isHttp2(this.#request)) {
      this.#openHead = closeHttp2Head(response);
    } else {
      response._header = "held";
      this.#openHead = () => {
        response._header = null;
      };
    }
    return head;
  }

  /** `finished` stays false: Node closes connections whose message is finished when the server shuts down. */
  closeBody(): void {
    Object.defineProperty(this.#response, "writableEnded", { configurable: true, get: () => true });
  }

  /** Somebody may ask for the end of the connection; it waits until the answer has left or cannot leave any more. */
  keepConnection(): void {
    // On HTTP/2 a request ends its own stream and nobody else's connection.
    if (isHttp2(this.#request)) return;
    const release = deferDestroy(this.#request);
    let isKept = true;
    const once = (): void => {
      if (isKept) release();
      isKept = false;
    };
    this.#response.once("finish", once);
    this.#response.once("close", once);
  }

  linesOf(headers: HeaderSource): readonly HeaderLine[] {
    return headerLinesBeyond(headers, this.#baseline);
  }

  /** Nothing of what the handler set is left. */
  restore(): void {
    restoreHeaders(this.#response, this.#baseline);
  }

  /** The answer was settled before any of it was written: whoever writes it now writes to the connection. */
  open(): void {
    this.#lift();
    if (this.#shield.closed) process.nextTick(() => this.#shield.tellClosed());
  }

  /** Undoes `closeHead` and `closeBody`. */
  reopen(): void {
    this.#openHead();
    this.#openHead = () => undefined;
    Reflect.deleteProperty(this.#response, "writableEnded");
  }

  /** From here on the response is Node's again; the head is written anew by the real methods. */
  #lift(): void {
    this.reopen();
    this.#shield.lift();
  }

  sendHeld(head: AnswerHead, addHeaders: readonly HeaderLine[], body: Uint8Array): void {
    this.#finish(() => {
      const response = this.#response;
      setLayerLines(response, addHeaders);
      // Trailers need chunked framing; so does whoever chose it.
      const hasTrailer = response.hasHeader("trailer") || (response._trailer ?? "") !== "";
      const isFramed = response.hasHeader("transfer-encoding") || hasTrailer;
      const content = hasContent(response, head.status);
      if (content && !isFramed) tellLength(response, body.length);
      response.statusCode = head.status;
      // Otherwise head and length are left to Node: an outer layer may set headers in its own `end`, or change the bytes.
      if (isFramed) this.outer.writeHead(head.status);
      this.outer.end(content && body.length > 0 ? body : undefined);
    });
  }

  /** Nothing of what the handler set goes with it. */
  sendInstead(answer: NeutralResponse): void {
    this.#finish(() => {
      this.restore();
      sendAnswer(this.#response, answer, this.outer);
    });
  }

  /** Sends, then tells the handler what the connection has become meanwhile. A dead connection is no error here. */
  #finish(send: () => void): void {
    const response = this.#response;
    const { socket } = this.#request;
    const isDead = this.#shield.closed || socket?.destroyed === true || socket?.writable === false;
    let finished = false;
    response.once("finish", () => {
      finished = true;
    });
    this.#lift();
    try {
      this.#pastInnerLayers(send);
    } catch (error) {
      // An outer layer failed on the answer. Its effect is recorded, so a retry gets it; this caller gets a cut.
      this.outer.destroy(error as Error);
    }
    if (!isDead) return;
    process.nextTick(() => {
      // Node never finishes an answer to a dead connection: whoever awaits `finish` would wait for ever.
      if (!finished && response.socket !== null) response.emit("finish");
      this.#shield.tellClosed();
    });
  }

  /**
   * Node's `end` writes the head by the response's own `writeHead`, and on HTTP/2 the bytes by its `write`. Those are the
   * capture's by now, or of layers within it, which had the answer already or have no part in it.
   */
  #pastInnerLayers(send: () => void): void {
    const methods = this.#response as unknown as Record<"write" | "writeHead", unknown>;
    const { write, writeHead } = methods;
    Object.assign(methods, { write: this.outer.write, writeHead: this.outer.writeHead });
    send();
    // An outer layer that puts its `end` off still needs them.
    if (this.#response.headersSent) Object.assign(methods, { write, writeHead });
  }

  /** What is there goes out, and from now on the handler writes to the connection itself. */
  goLive(head: AnswerHead, addHeaders: readonly HeaderLine[], buffer: AnswerBuffer, isEnded: boolean): void {
    const response = this.#response;
    this.#lift();
    try {
      setLayerLines(response, addHeaders);
      this.outer.writeHead(head.status);
      const isEmpty = buffer.bytes === 0;
      const wantsMore = buffer.pour(this.outer);
      if (isEnded) this.outer.end();
      else if (isEmpty) this.outer.flushHeaders();
      else if (wantsMore && buffer.owesDrain) process.nextTick(() => response.emit("drain"));
    } catch (error) {
      this.outer.destroy(error as Error);
    }
    this.#shield.tellClosed();
  }

  /** No answer: the connection ends. */
  abandon(error: Error | undefined): void {
    this.#lift();
    this.outer.destroy(error);
    this.#shield.tellClosed();
  }
}
