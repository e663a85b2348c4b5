/**
 * Calls a user's listener. A listener that fails must neither change the outcome that the event reports nor end the
 * process: its event is lost, and its error goes to `failed`.
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
