/**
 * postgres.js ends a transaction by itself when its connection is lost, while the function still runs, and connects
 * anew in the same place. What the function sends after that, and the driver's own ROLLBACK or COMMIT, would be written
 * outside of any transaction, or to no socket at all, which ends the process (postgres 3.4). So from then on nothing is
 * sent: the function's statements are refused, and the driver does not learn of its end.
 */
import { IchidoError } from "../core/contract/errors.ts";

export type Begin<Tx> = (fn: (tx: Tx) => Promise<unknown>) => Promise<unknown>;

export interface Link {
  /** Throws once the connection is lost. */
  require(): void;
  /** Runs what the driver waits for. Never ends where the connection was lost: the driver has ended without it. */
  during<Value>(fn: () => Promise<Value>): Promise<Value>;
  /** What the function waits for: rejects with the loss, since it may never end otherwise. */
  orLost<Value>(answer: Promise<Value>): Promise<Value>;
}

function lost(): IchidoError {
  return new IchidoError(
    "store-unavailable",
    "the connection of this transaction was lost, and with it whatever was written; nothing more can be said in it",
  );
}

/** `guard` refuses statements on what the driver gives to the function; `commit` is done before the driver's own. */
export function withLink<Tx>(
  begin: Begin<Tx>,
  guard: (tx: Tx, link: Link) => Tx,
  commit?: (tx: Tx) => Promise<void>,
): Begin<Tx> {
  return (fn) => {
    let isLost = false;
    const loss = Promise.withResolvers<never>();
    loss.promise.catch(() => undefined);
    const link: Link = {
      require() {
        if (isLost) throw lost();
      },
      async during(run) {
        try {
          return await run();
        } finally {
          // A statement that was under way fails by the loss a moment before the transaction does.
          await new Promise((resolve) => setImmediate(resolve));
          if (isLost) await new Promise(() => undefined);
        }
      },
      orLost: (answer) => Promise.race([answer, loss.promise]),
    };
    const whole = begin(async (tx) => {
      const value = await link.during(() => fn(guard(tx, link)));
      if (commit !== undefined) await link.during(() => commit(tx));
      return value;
    });
    whole.catch(() => {
      isLost = true;
      loss.reject(lost());
    });
    return whole;
  };
}
