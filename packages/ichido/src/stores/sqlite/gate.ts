/** Calls under way, so that `close` can wait for them and refuse later ones. Every call is bounded, and so is the wait. */
import { IchidoError } from "../../core/contract/errors.ts";

export interface Gate {
  pass<T>(call: () => Promise<T>): Promise<T>;
  /** For calls on the caller's own transaction: those need nothing that `close` takes away, so it does not wait for them. */
  passBy<T>(call: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function createGate(): Gate {
  let closed = false;
  let inside = 0;
  const waiting: (() => void)[] = [];

  function isClosed(): IchidoError {
    return new IchidoError("engine-closed", "the SQLite store was closed");
  }

  return {
    passBy: (call) => (closed ? Promise.reject(isClosed()) : call()),
    async pass(call) {
      if (closed) throw isClosed();
      inside += 1;
      try {
        return await call();
      } finally {
        inside -= 1;
        if (inside === 0 && waiting.length > 0) for (const resume of waiting.splice(0)) resume();
      }
    },
    async close() {
      closed = true;
      if (inside > 0) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
