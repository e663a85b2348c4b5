import type { Rig } from "./rig.ts";

/** One thing that must be true of every store. */
export interface StoreCase {
  /** Stable: what a subject's `skip` names. */
  readonly id: string;
  /** Begins with the guarantee (`core/contract/store.ts`) it proves. */
  readonly title: string;
  /** Cannot be tried without it. */
  readonly needs?: "clock" | "watch" | "transactions";
  run(rig: Rig): Promise<void>;
}
