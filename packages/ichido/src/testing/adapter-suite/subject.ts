/** What the suite gets: a framework with its adapter, and a store. */
import type { Store } from "../../core/contract/store.ts";
import type { TransactionalEffects } from "./effects.ts";
import type { Harness, HarnessOptions, Layer } from "./harness.ts";

export interface RunningApp {
  readonly port: number;
  readonly harness: Harness<never>;
  /** Ends the server with all its connections. */
  close(): Promise<void>;
}

export interface AdapterStore {
  readonly store: Store;
  /** Another connection to the same data. Absent: the store itself serves a second server of the process. */
  readonly second?: Store;
  readonly transactional?: TransactionalEffects;
  close(): Promise<void>;
}

/** A server in a process of its own, on a store that other processes see. */
export interface ServerProcess {
  readonly port: number;
  /** No handler runs, no buffer is flushed. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface ProcessOptions {
  readonly leaseMs?: number;
  /** As `faultsFromEnv` reads it: `before-complete:kill`. */
  readonly faults?: string;
}

export interface ServerProcesses {
  /** Without options: one of at most two shared servers, which may serve other cases, too, and are not killed. */
  start(options?: ProcessOptions): Promise<ServerProcess>;
  /** Sent with every plan of the case. */
  readonly tally: string;
  /** Effects of the case, over all processes. */
  effects(): number;
  /** Handlers of the case that were started. */
  arrivals(): number;
  committedEffects(): Promise<number>;
  close(): Promise<void>;
}

export interface AdapterSubject {
  readonly name: string;
  /** Builds the application that `harness.ts` describes and listens on a free port of 127.0.0.1. */
  start(options: HarnessOptions): Promise<RunningApp>;
  /** An empty store, for one case. */
  openStore(): Promise<AdapterStore>;
  /**
   * The framework's own ways of writing an answer, besides `send`. These the cases know by name: `json`; `write` and
   * `writeHead` of Node's response; `void`: no content; `hints`: early hints go first; `chunks`: piece by piece, with
   * time between; `events` (and whatever begins with it: `events by …`): an event stream; `flush`: the head first.
   */
  readonly ways: readonly string[];
  /** What `HarnessOptions.layer` may be. */
  readonly layers?: readonly Layer[];
  /** `openStore` gives `transactional`. */
  readonly transactions?: boolean;
  /** The framework can give the adapter a parsed body without its bytes. */
  readonly parsedBodies?: boolean;
  /** Absent where other processes do not see the store, or where another subject tries such a store. */
  readonly openProcesses?: () => Promise<ServerProcesses>;
  /** Case ids that cannot be passed, each with the reason that its title will state. */
  readonly skip?: Readonly<Record<string, string>>;
}
