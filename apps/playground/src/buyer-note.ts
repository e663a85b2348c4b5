import type { LaneName } from "../../shop/src/playground/contract.ts";

export interface BuyerNote {
  readonly lane: LaneName;
  readonly what: "click" | "try" | "paid" | "not-paid" | "reload" | "key-found" | "tab";
  readonly detail?: string;
  readonly status?: number;
}
