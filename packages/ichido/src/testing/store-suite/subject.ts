/** What the suite gets: a test runner and a store to try. */
import type { Store } from "../../core/contract/store.ts";
import type { TransactionRunner } from "../../core/contract/transaction.ts";

/** The part of vitest, jest, mocha or `node:test` that the suite uses. */
export interface SuiteRunner {
  describe(name: string, body: () => void): unknown;
  readonly it: SuiteIt;
}

export interface SuiteIt {
  (name: string, body: () => Promise<void>): unknown;
  /** A case that does not apply is registered as skipped, with the reason in its title; never as a passing one. */
  skip(name: string, body: () => Promise<void>): unknown;
}

/** Moves the clock by which the store measures leases and retention, not the clock of the test process. */
export interface StoreClock {
  /** Forwards, or backwards when negative. */
  advanceMs(ms: number): Promise<void> | void;
}

/** An empty store without records and without a tick, and what belongs to it. */
export interface OpenedStore {
  readonly store: Store;
  /** Another connection to, or another process's view of, the same data. */
  readonly second?: Store;
  readonly clock?: StoreClock;
  /** Opens transactions that `store` joins, on connections that `second` does not use. */
  readonly runner?: TransactionRunner<unknown>;
  close(): Promise<void>;
}

export interface StoreSubject {
  readonly name: string;
  /** Called once for every case; each call gives an empty store. */
  open(): Promise<OpenedStore>;
  /** `open` gives a `clock` that moves both ways. Without it the cases that need one are skipped by name. */
  readonly movesClock?: boolean;
  /** The store has `watch`. */
  readonly watches?: boolean;
  /** `open` gives a `runner`. */
  readonly joins?: boolean;
  /**
   * How many random histories run, 8 by default. One or two are enough where another subject runs all of them on the
   * same store, and this one tries another driver or pooler.
   */
  readonly histories?: number;
  /** Case ids that this store cannot pass, each with the reason that its title will state. */
  readonly skip?: Readonly<Record<string, string>>;
}
