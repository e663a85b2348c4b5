import type { StateView } from "../../shop/src/playground/contract.ts";

export interface ScreenProps {
  readonly state: StateView | undefined;
  /** Reads the state anew. */
  readonly again: () => Promise<void>;
}
