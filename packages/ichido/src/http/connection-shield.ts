/**
 * While an answer is held, the handler must not learn that its client went away: pipes would stop, `pipeline` would
 * reject, file streams would be closed, and an effect would be left without its answer. So the shield hides from the
 * handler what Node and `on-finished` report about the connection, until it is lifted.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export interface ConnectionShield {
  /** The connection closed while the shield was up, and the handler has not seen `close` yet. */
  readonly closed: boolean;
  /** From now on the response shows the real state of the connection again. */
  lift(): void;
  /** Emits the `close` that was held back, once. */
  tellClosed(): void;
  /** For a connection that Node ended without an event on the response (a pipelined answer that was never begun). */
  noteClosed(): void;
}

type FinishedListener = (error: unknown, response: ServerResponse) => void;
/** What `on-finished` (Express, `send`, morgan) leaves on a response: one listener with a queue. */
type FinishedQueue = ((error?: unknown) => void) & { queue: FinishedListener[] | null };
type Internals = ServerResponse & { _closed?: boolean; __onFinished?: FinishedQueue | null | undefined };

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

/**
 * `on-finished` would call its listeners when the socket closes. Those of the handler wait in a queue of ours until the
 * answer is really finished; the queue of outer layers stays as it was.
 */
function queueFinished(response: Internals): () => void {
  const former = response.__onFinished;
  const standIn: FinishedQueue = Object.assign(() => undefined, { queue: [] as FinishedListener[] });
  response.__onFinished = standIn;
  return () => {
    response.__onFinished = former?.queue ? former : undefined;
    const run = (): void => {
      for (const listener of (standIn.queue ?? []).splice(0)) listener(null, response);
    };
    response.once("finish", run);
    response.once("close", run);
  };
}

export function shieldConnection(response: ServerResponse, onClosed: () => void): ConnectionShield {
  let up = true;
  let closed = false;
  const hide = (value: boolean): boolean => value && !up;
  mask(response, "destroyed", hide);
  mask(response, "_closed", hide);
  // A dead socket looks like one that is not assigned: `on-finished` then waits for the answer itself.
  mask<Socket | null>(response, "socket", (socket) => (up && socket?.writable === false ? null : socket));
  const releaseFinished = queueFinished(response);

  function noteClosed(): void {
    if (closed) return;
    closed = true;
    onClosed();
  }

  const emit = response.emit.bind(response) as (...values: unknown[]) => boolean;
  (response as { emit: unknown }).emit = (...values: unknown[]): boolean => {
    // On HTTP/2 a stream that the client gave up emits both; nothing was sent yet, so nothing can be finished.
    if (!up || (values[0] !== "close" && values[0] !== "finish")) return emit(...values);
    if (values[0] === "close") noteClosed();
    return false;
  };

  return {
    get closed() {
      return closed;
    },
    lift() {
      if (!up) return;
      up = false;
      releaseFinished();
    },
    tellClosed() {
      if (!closed) return;
      closed = false;
      response.emit("close");
    },
    noteClosed,
  };
}

interface Deferral {
  holders: number;
  /** Set by the first `destroy` that has to wait: ends the connection at the latest then. */
  limit: NodeJS.Timeout | undefined;
  readonly former: PropertyDescriptor | undefined;
}

const deferrals = new WeakMap<Socket, Deferral>();
/** Longer than recording an answer may take by default. */
const deferMsMax = 10_000;

/**
 * Express's last error handler destroys the connection when the handler has already answered. Without the hold that
 * answer would have left by then; so the end of the connection waits until the answer has left. It does not wait after
 * an error of the connection itself, nor where nothing can be sent any more. Returns the function that lets the
 * connection end.
 */
export function deferDestroy(request: IncomingMessage): () => void {
  const { socket } = request;
  // Test doubles of requests have no connection to end.
  if (typeof socket?.destroy !== "function") return () => undefined;
  const former = Object.getOwnPropertyDescriptor(socket, "destroy");
  const entry: Deferral = deferrals.get(socket) ?? { holders: 0, limit: undefined, former };
  entry.holders += 1;
  if (entry.holders === 1) {
    deferrals.set(socket, entry);
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error?: Error): Socket => {
      if (entry.holders === 0 || error !== undefined || !socket.writable) return destroy(error);
      entry.limit ??= setTimeout(destroy, deferMsMax).unref();
      return socket;
    };
  }
  return () => {
    entry.holders -= 1;
    if (entry.holders > 0) return;
    deferrals.delete(socket);
    Reflect.deleteProperty(socket, "destroy");
    if (entry.former !== undefined) Object.defineProperty(socket, "destroy", entry.former);
    clearTimeout(entry.limit);
    if (entry.limit !== undefined) socket.destroySoon();
  };
}
