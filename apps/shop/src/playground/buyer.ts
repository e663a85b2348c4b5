/** The buyer, in the page and in the tests alike: in front of each lane as an app of its kind has one. */
import { retryDefaults, type AttemptStorage, type RetryOptions } from "ichido/client";
import type { LaneName } from "./contract.ts";
import { payWithKey } from "./keyed-buyer.ts";
import { payPlainly } from "./plain-buyer.ts";

export interface Cart {
  readonly run: string;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string;
  readonly customer?: string;
}

export interface Said {
  readonly status: number | undefined;
  readonly paid: boolean;
  readonly replayed: boolean;
  readonly tries: number;
}

export interface BuyerParts {
  /** Where `/payments` of the lane is. */
  readonly baseUrl: string;
  /** Attempts live here: a reload finds them again, another tab shares them. */
  readonly storage: AttemptStorage;
  readonly signal?: AbortSignal;
  readonly onTry?: (tries: number) => void;
}

export type Rules = Required<RetryOptions>;

/** Patient enough to see a killed lane come back and its lease lapse. */
const rules: Rules = {
  ...retryDefaults,
  triesMax: 30,
  backoffMs: 150,
  backoffMsMax: 1_000,
  budget: 100,
};

export function pay(lane: LaneName, cart: Cart, parts: BuyerParts): Promise<Said> {
  return lane === "protected" ? payWithKey(cart, parts, rules) : payPlainly(cart, parts, rules);
}
