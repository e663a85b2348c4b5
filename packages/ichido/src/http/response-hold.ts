/**
 * A response whose answer is held back: the handler sees it as if the answer were on its way, the outer layers as if
 * nothing had been written. Also here: the ways in which the answer leaves in the end.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AnswerHead, NeutralResponse } from "../core/contract/message.ts";
import type { HeaderLine } from "../core/contract/record.ts";
import { ConnectionShield } from "./connection-shield.ts";
import { closeHttp2Head } from "./http2.ts";
import { isHttp2 } from "./node-request.ts";
import {
  hasContent,
  headerLinesBeyond,
  Outlet,
  restoreHeaders,
  sendAnswer,
  setLayerLines,
  snapshotHeaders,
  tellLength,
  type Callback,
  type HeaderSnapshot,
  type HeaderSource,
} from "./send.ts";

/** Parts of Node's response that its types leave out. A header text that is there means "headers sent". */
type Internals = Omit<ServerResponse, "writableEnded"> & {
  _header: string | null;
  _trailer?: string;
  writableEnded: boolean;
} & ServerResponse;

const ended: PropertyDescriptor = { configurable: true, writable: true, value: true };

export class ResponseHold {
  /** The methods as the outer layers left them. */
  readonly outer: Outlet;
  readonly #request: IncomingMessage;
  readonly #response: Internals;
  readonly #baseline: HeaderSnapshot;
  readonly #shield: ConnectionShield;
  #isHeadClosed = false;
  #openHttp2Head: (() => void) | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, onClosed: () => void) {
    this.#request = request;
    this.#response = response as Internals;
    this.#baseline = snapshotHeaders(response);
    this.#shield = new ConnectionShield(request, response, onClosed);
    this.outer = new Outlet(response);
  }

  /** The client is gone; the handler has not noticed. */
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
    this.#isHeadClosed = true;
    if (isHttp2(this.#request)) this.#openHttp2Head = closeHttp2Head(response);
    else response._header = "held";
    return head;
  }

  /** `finished` stays false: Node closes connections whose message is finished when the server shuts down. */
  closeBody(): void {
    // A plain value, not an accessor: those would make every later use of the response slower.
    Object.defineProperty(this.#response, "writableEnded", ended);
  }

  /** A request to end the connection waits until the answer has left or cannot leave any more. */
  keepConnection(): void {
    this.#shield.keepConnection();
  }

  linesOf(headers: HeaderSource): readonly HeaderLine[] {
    return headerLinesBeyond(headers, this.#baseline);
  }

  /** Removes what the handler set. */
  restore(): void {
    restoreHeaders(this.#response, this.#baseline);
  }

  /** The answer was settled before any of it was written: what is written from now on goes to the connection. */
  open(): void {
    this.#lift();
    if (this.#shield.closed) process.nextTick(() => this.#shield.tellClosed());
  }

  /** Undoes `closeHead` and `closeBody`. */
  reopen(): void {
    this.#reopenHead();
    this.#showBody();
  }

  #reopenHead(): void {
    if (!this.#isHeadClosed) return;
    this.#isHeadClosed = false;
    if (this.#openHttp2Head === undefined) this.#response._header = null;
    else this.#openHttp2Head();
    this.#openHttp2Head = undefined;
  }

  /** `writableEnded` is Node's own again. */
  #showBody(): void {
    Reflect.deleteProperty(this.#response, "writableEnded");
  }

  /** Of two holds on one response, the other may have taken the property away. */
  #tellEnded(isEnded: boolean): void {
    if (Object.hasOwn(this.#response, "writableEnded")) this.#response.writableEnded = isEnded;
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
      // Trailers need chunked framing; and a handler that chose it keeps it.
      const hasTrailer = response.hasHeader("trailer") || (response._trailer ?? "") !== "";
      const isFramed = response.hasHeader("transfer-encoding") || hasTrailer;
      const content = hasContent(response, head.status);
      if (content && !isFramed) tellLength(response, body.length);
      response.statusCode = head.status;
      // Otherwise head and length are left to Node: an outer layer may set headers in its own `end`, or change the
      // bytes.
      if (isFramed) this.outer.writeHead(head.status);
      this.outer.end(content && body.length > 0 ? body : undefined);
    });
  }

  /** Sends `answer` without anything that the handler set. */
  sendInstead(answer: NeutralResponse): void {
    this.#finish(() => {
      this.restore();
      sendAnswer(this.#response, answer, this.outer);
    });
  }

  /** Sends, then shows the handler what happened to the connection meanwhile. A dead connection is no error here. */
  #finish(send: () => void): void {
    const response = this.#response;
    const { socket } = this.#request;
    const isDead = this.#shield.closed || socket?.destroyed === true || socket?.writable === false;
    this.#reopenHead();
    this.#tellEnded(false);
    this.#shield.lift();
    try {
      this.#pastInnerLayers(send);
    } catch (error) {
      // An outer layer failed on the answer. Its effect is recorded, so a retry gets it; this caller gets a cut.
      this.outer.destroy(error as Error);
    }
    // Taking the property away again would cost; an outer layer that has not ended yet needs the true one. Where it says
    // so by now, it is another hold's, which has taken the answer.
    if (response.finished) this.#tellEnded(true);
    else if (!response.writableEnded) this.#showBody();
    if (!isDead) return;
    process.nextTick(() => {
      // Node never finishes an answer to a dead connection: a handler that awaits `finish` would wait for ever.
      if (!this.#shield.finished && response.socket !== null) response.emit("finish");
      this.#shield.tellClosed();
    });
  }

  /**
   * Node's `end` writes the head by the response's own `writeHead`, and on HTTP/2 the bytes by its `write`. By now
   * those methods belong to the capture or to layers inside it, which have had the answer or have no part in it.
   */
  #pastInnerLayers(send: () => void): void {
    const methods = this.#response as unknown as Record<"write" | "writeHead", unknown>;
    const { write, writeHead } = methods;
    this.outer.putBack();
    send();
    // An outer layer that delays its `end` still needs the methods.
    if (!this.#response.headersSent) return;
    methods.write = write;
    methods.writeHead = writeHead;
  }

  /** Sends the held bytes; from now on the handler writes to the connection itself. */
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

interface Waiting {
  readonly bytes: Uint8Array;
  readonly callback: Callback | undefined;
}

/** The bytes of an answer that is being held, and those that wait for a stream to open. */
export class AnswerBuffer {
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** A `write` returned false: its caller waits for `drain`. */
  owesDrain = false;

  get bytes(): number {
    return this.#heldBytes + this.#waitingBytes;
  }

  hold(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  /** Below the high water mark, as Node does for an answer that has no connection yet. */
  wait(bytes: Uint8Array, callback: Callback | undefined, highWaterMark: number): boolean {
    this.#waiting.push({ bytes, callback });
    this.#waitingBytes += bytes.length;
    const wantsMore = this.#waitingBytes < highWaterMark;
    if (!wantsMore) this.owesDrain = true;
    return wantsMore;
  }

  /** The whole of a held answer; the buffer is empty afterwards. */
  take(): Uint8Array {
    const [first, ...rest] = this.#held;
    this.#held = [];
    if (first === undefined) return new Uint8Array(0);
    return rest.length === 0 ? first : Buffer.concat([first, ...rest]);
  }

  /** Writes everything out in order; false when the outlet asks to wait for its `drain`. */
  pour(outlet: Outlet): boolean {
    let wantsMore = true;
    // Callbacks of held bytes were called when they were taken.
    for (const bytes of this.#held.splice(0)) wantsMore = outlet.write(bytes);
    for (const { bytes, callback } of this.#waiting.splice(0)) wantsMore = outlet.write(bytes, callback);
    return wantsMore;
  }

  drop(): void {
    this.#held = [];
    this.#waiting = [];
  }
}
