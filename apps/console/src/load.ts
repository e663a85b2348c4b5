/** Reading from the server: what is shown stays while it is read again, and an answer that is late is dropped. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api.ts";

export interface Loaded<Value> {
  readonly value: Value | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** When the value was read, by this browser's clock. */
  readonly atMs: number;
  readonly again: () => void;
}

interface Held<Value> {
  readonly name: string;
  readonly value?: Value;
  readonly error?: ApiError;
  readonly isLoading: boolean;
  readonly atMs: number;
}

/** `name` says what is read: another name is another thing, whose value is not there yet. */
export function useLoad<Value>(
  name: string,
  read: (signal: AbortSignal) => Promise<Value>,
  everyMs?: number,
): Loaded<Value> {
  const [held, setHeld] = useState<Held<Value>>({ name, isLoading: true, atMs: 0 });
  const [turn, setTurn] = useState(0);
  const reading = useRef(read);
  reading.current = read;
  useEffect(() => {
    const abort = new AbortController();
    setHeld((before) =>
      before.name === name ? { ...before, isLoading: true } : { name, isLoading: true, atMs: before.atMs },
    );
    reading.current(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setHeld({ name, value, isLoading: false, atMs: Date.now() });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        setHeld((before) => ({ ...before, name, error: ApiError.of(error), isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [name, turn]);
  const again = useCallback(() => setTurn((count) => count + 1), []);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") again();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, again]);
  const isCurrent = held.name === name;
  return {
    value: isCurrent ? held.value : undefined,
    error: isCurrent ? held.error : undefined,
    isLoading: held.isLoading || !isCurrent,
    atMs: held.atMs,
    again,
  };
}
