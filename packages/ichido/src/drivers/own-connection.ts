/**
 * One connection of the store's own beside the user's pool: opened when it is first needed, ended when it was not needed
 * for a while, opened again after it was lost.
 */
import { withDeadline } from "../core/contract/deadline.ts";
import type { Environment, Timer } from "../core/contract/environment.ts";

export interface OwnConnection<Held extends object> {
  /** Rejects where none can be had in time, or after `close`. */
  get(timeoutMs: number): Promise<Held>;
  /** It may carry a late answer or none at all: the next caller gets another. */
  drop(held: Held): void;
  close(): Promise<void>;
}

export interface OwnConnectionParts<Held extends object> {
  readonly environment: Environment;
  /** What it opens and then rejects, it ends itself. `onLost` is for a connection that ends without being asked to. */
  open(onLost: () => void): Promise<Held>;
  /** A connection that was dropped is destroyed, not asked to end: it may never answer. */
  end(held: Held, how: "end" | "destroy"): Promise<unknown>;
}

/** Longer than any pause between the renewals of one attempt, so that it stays while it is needed. */
const idleMs = 60_000;

export function createOwnConnection<Held extends object>(parts: OwnConnectionParts<Held>): OwnConnection<Held> {
  const { environment } = parts;
  let held: Held | undefined;
  let opening: Promise<Held> | undefined;
  let idle: Timer | undefined;
  let closed = false;

  async function letGo(gone: Held | undefined, how: "end" | "destroy" = "end"): Promise<void> {
    if (gone === undefined) return;
    if (held === gone) held = undefined;
    await parts.end(gone, how).catch(() => undefined);
  }

  function stayForNow(): void {
    idle?.cancel();
    idle = environment.after(idleMs, () => void letGo(held));
  }

  async function open(): Promise<Held> {
    let lost = false;
    let opened: Held | undefined;
    opened = await parts.open(() => {
      lost = true;
      if (opened !== undefined && held === opened) held = undefined;
    });
    if (!lost) held = opened;
    stayForNow();
    return opened;
  }

  return {
    async get(timeoutMs) {
      if (closed) throw new Error("the store was closed");
      stayForNow();
      if (held !== undefined) return held;
      opening ??= open().finally(() => {
        opening = undefined;
      });
      const pending = opening;
      return withDeadline(environment, timeoutMs, () => pending);
    },
    drop: (gone) => void letGo(gone, "destroy"),
    async close() {
      closed = true;
      await opening?.catch(() => undefined);
      idle?.cancel();
      await letGo(held);
    },
  };
}
