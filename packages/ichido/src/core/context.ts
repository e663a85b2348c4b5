import type { Key } from "./record.ts";

/** What a protected handler gets. */
export interface Context {
  readonly key: Key;
  /** 1 for the first attempt under this key. */
  readonly attempt: number;
  /** Grows with every new owner of the key. A business write that remembers the greatest fence refuses a zombie. */
  readonly fence: number;
  /** Aborts when the fence is lost, or when the lease can no longer be trusted to hold. */
  readonly signal: AbortSignal;
  /**
   * A name for an external effect: the same on every attempt and after the store forgot. Send it as the provider's own
   * idempotency key. At most 45 printable ASCII characters.
   */
  reference(name: string): string;
  /**
   * Says that nothing happened: whatever the handler answers next is sent but not kept, and the next attempt runs. Only
   * the handler can know this; after an external call it is almost never true.
   */
  release(): void;
}
