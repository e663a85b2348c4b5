import type { Setup } from "./setup.ts";
import type { Side } from "./sides/side.ts";

export interface Served {
  readonly port: number;
  close(): Promise<void>;
}

export type Serve = (side: Side, setup: Setup) => Promise<Served>;
