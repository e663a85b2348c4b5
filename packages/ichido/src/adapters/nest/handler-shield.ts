/**
 * Nest 12 unsubscribes from an observable that the handler returned when the request's socket closes, and then answers
 * nothing: an effect would be left without its answer. Nest reads `destroyed` and waits by `once("close")`; while the
 * handler runs, the shield hides both from it. Node itself uses neither here (`stream.finished` listens by `on`).
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

const standIns = new WeakMap<Socket, Socket>();

function standInFor(socket: Socket): Socket {
  const known = standIns.get(socket);
  if (known !== undefined) return known;
  const standIn: Socket = new Proxy(socket, {
    get(target, name) {
      if (name === "destroyed") return false;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...values: unknown[]): unknown => {
        if (name === "once" && values[0] === "close") return standIn;
        return (value as (...given: unknown[]) => unknown).apply(target, values);
      };
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  standIns.set(socket, standIn);
  return standIn;
}

/** Returns the function that lifts the shield. */
export function shieldHandler(request: IncomingMessage): () => void {
  const { socket } = request;
  if (typeof socket?.once !== "function") return () => undefined;
  request.socket = standInFor(socket);
  return () => {
    request.socket = socket;
  };
}
