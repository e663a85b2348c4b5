/**
 * While an answer is held, the handler must not learn that its client went away: pipes would stop, `pipeline` would
 * reject, file streams would be closed, and an effect would be left without its answer. So the shield hides from the
 * handler what Node and `on-finished` report about the connection, until it is lifted.
 *
 * Most connections outlive their answer, and there is nothing to hide. Properties of the response are masked when its
 * connection begins to end, not before: a mask on every response would be among the dearest parts of a request.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Chain, type Link } from "../core/contract/chain.ts";
import { isHttp2 } from "./node-request.ts";

type FinishedListener = (error: unknown, response: ServerResponse) => void;
/** What `on-finished` (Express, `send`, morgan) leaves on a response: one listener with a queue. */
interface FinishedQueue {
  queue: FinishedListener[] | null;
}
const shielding = Symbol("ichido.shield");
type Internals = ServerResponse & {
  _closed?: boolean;
  __onFinished?: FinishedQueue | null | undefined;
  [shielding]?: ConnectionShield;
};
type Emit = (...values: unknown[]) => boolean;

function sharedEmit(this: Internals, ...values: unknown[]): boolean {
  return this[shielding]?.emit(values) === true;
}

function descriptorOf(target: object, name: string): PropertyDescriptor | undefined {
  for (let each: object | null = target; each !== null; each = Object.getPrototypeOf(each) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(each, name);
    if (descriptor !== undefined) return descriptor;
  }
  return undefined;
}

/** Puts `show` between the property and its readers; writers go through. */
function mask<Value>(target: object, name: string, show: (value: Value) => Value): void {
  const former = descriptorOf(target, name);
  let own = former?.value as Value;
  Object.defineProperty(target, name, {
    configurable: true,
    enumerable: true,
    get: () => show(former?.get === undefined ? own : (former.get.call(target) as Value)),
    set: (value: Value) => {
      if (former?.set === undefined) own = value;
      else former.set.call(target, value);
    },
  });
}

export class ConnectionShield implements Link<ConnectionShield> {
  // Among the shields of its connection.
  before: ConnectionShield | undefined;
  after: ConnectionShield | undefined;
  readonly #response: Internals;
  readonly #onClosed: () => void;
  readonly #emit: Emit;
  /** Of the connection that is this answer's alone; an HTTP/2 stream shares its own with others. */
  readonly #keeper: ConnectionKeeper | undefined;
  readonly #formerQueue: FinishedQueue | null | undefined;
  /**
   * `on-finished` would call its listeners when the socket closes. Those of the handler wait here until the answer is
   * really finished; the queue of outer layers stays as it was.
   */
  readonly #finishedQueue: FinishedQueue = { queue: [] };
  #up = true;
  #masked = false;
  #keeps = false;
  /** The connection closed while the shield was up, and the handler has not seen `close` yet. */
  closed = false;
  /** The answer has left. */
  finished = false;

  constructor(request: IncomingMessage, response: ServerResponse, onClosed: () => void) {
    this.#response = response;
    this.#onClosed = onClosed;
    this.#keeper = isHttp2(request) ? undefined : keeperOf(request.socket);
    this.#emit = (response as unknown as { readonly emit: Emit }).emit;
    const isFirst = this.#response[shielding] === undefined;
    if (isFirst) this.#response[shielding] = this;
    // One function for all: a function of its own on each response would keep it from being collected early.
    (response as { emit: unknown }).emit = isFirst ? sharedEmit : (...values: unknown[]) => this.emit(values);
    this.#formerQueue = this.#response.__onFinished;
    this.#response.__onFinished = this.#finishedQueue;
    if (this.#keeper === undefined || response.destroyed || !request.socket.writable) this.mask();
    this.#keeper?.shields.add(this);
  }

  emit(values: unknown[]): boolean {
    const [name] = values;
    if (name !== "close" && name !== "finish") return this.#emit.apply(this.#response, values);
    if (this.#up) {
      // On HTTP/2 a stream that the client gave up emits both; nothing was sent yet, so nothing can be finished.
      if (name === "close") this.noteClosed();
      return false;
    }
    if (name === "finish") this.finished = true;
    const wasHeard = this.#emit.apply(this.#response, values);
    if (this.#keeps) this.#keeper?.release();
    this.#keeps = false;
    return wasHeard;
  }

  /** From now on the handler sees a living connection. */
  mask(): void {
    if (this.#masked) return;
    this.#masked = true;
    const response = this.#response;
    const hide = (value: boolean): boolean => value && !this.#up;
    mask(response, "destroyed", hide);
    mask(response, "_closed", hide);
    // A dead socket looks like one that is not assigned: `on-finished` then waits for the answer itself.
    mask<Socket | null>(response, "socket", (socket) => (this.#up && socket?.writable === false ? null : socket));
  }

  /** Also for a connection that Node ended without an event on the response (a pipelined answer that was never begun). */
  noteClosed(): void {
    if (this.closed) return;
    this.closed = true;
    this.mask();
    this.#onClosed();
  }

  /** A request to end the connection waits until the answer has left or cannot leave any more. */
  keepConnection(): void {
    if (this.#keeps || this.#keeper === undefined) return;
    this.#keeps = true;
    this.#keeper.keep();
  }

  /** From now on the response shows the real state of the connection again. */
  lift(): void {
    if (!this.#up) return;
    this.#up = false;
    this.#keeper?.shields.remove(this);
    const response = this.#response;
    response.__onFinished = this.#formerQueue?.queue ? this.#formerQueue : undefined;
    const listeners = this.#finishedQueue.queue ?? [];
    if (listeners.length === 0) return;
    const run = (): void => {
      for (const listener of listeners.splice(0)) listener(null, response);
    };
    response.once("finish", run);
    response.once("close", run);
  }

  /** Emits the `close` that was held back, once. */
  tellClosed(): void {
    if (!this.closed) return;
    this.closed = false;
    this.#response.emit("close");
  }
}

/** Longer than recording an answer may take by default. */
const keepMsMax = 10_000;

const keeper = Symbol("ichido.connectionKeeper");
type KeptSocket = Socket & { [keeper]?: ConnectionKeeper };

/** Undefined for test doubles of requests, which have no connection to end. */
function keeperOf(socket: KeptSocket): ConnectionKeeper | undefined {
  if (typeof socket?.destroy !== "function" || typeof socket.end !== "function") return undefined;
  socket[keeper] ??= new ConnectionKeeper(socket);
  return socket[keeper];
}

/**
 * Sees that a connection is about to end, by its client or by this process. It is put on a connection once: methods that
 * came and went with every request would cost more than the rest of the shield.
 *
 * Express's last error handler destroys the connection when the handler has already answered. Without the hold that
 * answer would have left by then; so the end of the connection waits until the answer has left. It does not wait after
 * an error of the connection itself, nor where nothing can be sent any more.
 */
class ConnectionKeeper {
  readonly #socket: Socket;
  /** Of the answers that are held on this connection. */
  readonly shields = new Chain<ConnectionShield>();
  #holders = 0;
  /** Set by the first `destroy` that has to wait: ends the connection at the latest then. */
  #limit: NodeJS.Timeout | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    const { destroy, end } = socket as unknown as Record<"destroy" | "end", (...values: unknown[]) => Socket>;
    const destroyNow = (...values: unknown[]): Socket => {
      this.#mask();
      return destroy.apply(socket, values);
    };
    socket.destroy = (...values: unknown[]): Socket => {
      if (this.#holders === 0 || values[0] !== undefined || !socket.writable) return destroyNow(...values);
      this.#limit ??= setTimeout(destroyNow, keepMsMax).unref();
      return socket;
    };
    socket.end = (...values: unknown[]): Socket => {
      this.#mask();
      return end.apply(socket, values);
    };
  }

  #mask(): void {
    for (const shield of this.shields.all()) shield.mask();
  }

  keep(): void {
    this.#holders += 1;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders > 0 || this.#limit === undefined) return;
    clearTimeout(this.#limit);
    this.#limit = undefined;
    this.#socket.destroySoon();
  }
}
