/** What the programs of this benchmark say to each other. */

/** A file in servers/ exports `start`: it listens on a free port of 127.0.0.1 and answers POST /payments. */
export interface Settings {
  readonly store: string;
  /** Address of the store's server or name of its file; empty for memory. */
  readonly url: string;
}

export interface Running {
  readonly port: number;
  close(): unknown;
}

export type Start = (settings: Settings) => Promise<Running>;

/** Asked of a server's process; each is answered by one message. */
export type ServerAsk = "begin" | "end" | "heap" | "close";

export interface Spent {
  readonly cpuUs: number;
  readonly allocatedBytes: number;
  readonly residentBytes: number;
}

export const mixes = ["new", "replay", "half", "mismatch", "slow"] as const;
export type Mix = (typeof mixes)[number];

export type LoadAsk =
  | { readonly do: "connect"; readonly port: number; readonly connections: number }
  | { readonly do: "run"; readonly turn: Turn }
  | { readonly do: "disconnect" };

export interface Turn {
  readonly mix: Mix | "fill";
  readonly bodyBytes: number;
  /** At most. */
  readonly seconds: number;
  /** At most. */
  readonly requests?: number | undefined;
  /** Status of a mix's answers; a replay has its own, for those that forget the first one's. */
  readonly status: number;
  readonly replayStatus: number;
}

export interface Load {
  readonly requests: number;
  readonly newKeys: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the generator itself: near 1 it, and not the server, is what was measured. */
  readonly busy: number;
}
