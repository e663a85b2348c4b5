/**
 * A pool of `pg` does not listen to the errors of clients that it has lent, and without a listener they end the
 * process. So this listens from the moment the pool lends, not from when the promise of a client resolves: the client's
 * last error may come in between. The statement under way, or the next one, fails with the same error.
 */
interface Emitting {
  on?(event: string, listener: (...told: never[]) => void): unknown;
}

const heard = new WeakSet<object>();

function listenOnce(emitter: Emitting, event: string, listener: (...told: never[]) => void): void {
  if (heard.has(emitter)) return;
  heard.add(emitter);
  emitter.on?.(event, listener);
}

function ignore(): void {}

/** Of one client. */
export function ignoreClientErrors(client: object): void {
  listenOnce(client, "error", ignore);
}

/** Of every client that the pool lends. */
export function ignoreClientErrorsOf(pool: object): void {
  listenOnce(pool, "acquire", ignoreClientErrors);
}
