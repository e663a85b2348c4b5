/**
 * Tells a user's listener. One that fails must not decide about what it is told of, nor end the process: what it was told
 * is lost, and its error goes to `failed`.
 */
export function tell<Event>(
  listener: ((event: Event) => unknown) | undefined,
  event: Event,
  failed: (error: unknown) => void = () => {},
): void {
  try {
    const result = listener?.(event);
    if (result instanceof Promise) result.catch(failed);
  } catch (error) {
    failed(error);
  }
}
