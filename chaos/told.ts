import type { Row } from "./sides/side.ts";

/** What the desk reads off the store in the end. */
export interface Told {
  readonly rows: readonly Row[];
  readonly records: readonly {
    readonly key: string;
    readonly caller: string;
    readonly operation: string;
    readonly state: string;
  }[];
}
