/** What a lane and its supervisor say over the channel between them. */
import type { EventNote, KillPoint } from "../contract.ts";

export type ToLane =
  | { readonly kind: "stop-at"; readonly point: KillPoint }
  /** Whoever stands there under this number. */
  | { readonly kind: "go-on"; readonly stand: number }
  /** Nobody is to stop any more, and all go on. */
  | { readonly kind: "disarm" };

export type FromLane =
  | { readonly kind: "ready"; readonly port: number }
  | { readonly kind: "armed" }
  /** It stands at the point and waits to be killed, or told to go on. */
  | { readonly kind: "at"; readonly point: KillPoint; readonly run: string; readonly stand: number }
  /** It works for a run, and does not any more. */
  | { readonly kind: "begun" | "ended"; readonly run: string }
  | { readonly kind: "note"; readonly note: EventNote };
