/** What a lane and its supervisor say over the channel between them. */
import type { EventNote, KillPoint } from "../contract.ts";

export type ToLane = { readonly kind: "stop-at"; readonly point: KillPoint } | { readonly kind: "go-on" };

export type FromLane =
  | { readonly kind: "ready"; readonly port: number }
  | { readonly kind: "armed" }
  /** It stands at the point and waits to be killed. */
  | { readonly kind: "at"; readonly point: KillPoint; readonly run: string }
  | { readonly kind: "note"; readonly note: EventNote };
