import type { Environment } from "./environment.ts";

export class DeadlineExceeded extends Error {
  override readonly name: string = "DeadlineExceeded";
}

/**
 * Bounds a call that may hang. What arrives after the deadline goes to `onLate`: a claim that is granted too late can
 * then be given back, instead of locking its key for a lease.
 */
export function withDeadline<T>(
  environment: Environment,
  timeoutMs: number,
  run: () => Promise<T>,
  onLate?: (value: T) => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let open = true;
    // A caller awaits this: the timer keeps the process alive until then.
    const expire = (): void => {
      open = false;
      reject(new DeadlineExceeded(`no answer within ${timeoutMs} ms`));
    };
    const timer = environment.after(timeoutMs, expire, { hold: true });
    const close = (): boolean => {
      const was = open;
      open = false;
      timer.cancel();
      return was;
    };
    let pending: Promise<T>;
    try {
      pending = run();
    } catch (error) {
      pending = Promise.reject(error as Error);
    }
    pending.then(
      (value) => (close() ? resolve(value) : onLate?.(value)),
      (error: unknown) => {
        if (close()) reject(error as Error);
      },
    );
  });
}

export function sleep(environment: Environment, delayMs: number): Promise<void> {
  return new Promise((resolve) => environment.after(delayMs, resolve, { hold: true }));
}
