/**
 * The user's NATS connection, as far as it is used here: `connect` of `@nats-io/transport-node` (or of `nats` 2) makes one.
 * Such a connection finds its server again by itself, but gives up after `maxReconnectAttempts`; a function in its place
 * makes a new one then.
 */
import { withDeadline } from "../core/contract/deadline.ts";
import type { Environment } from "../core/contract/environment.ts";
import { optionInvalid } from "../core/contract/option-checks.ts";
import { Opening } from "./backoff.ts";
import { asError } from "./hand-out.ts";

export interface NatsHeaders extends Iterable<[string, string[]]> {
  readonly code: number;
  readonly description: string;
  set(name: string, value: string): void;
}

export interface NatsMessage {
  readonly subject: string;
  readonly reply?: string;
  readonly data: Uint8Array;
  readonly headers?: NatsHeaders;
}

export interface NatsConnection {
  readonly info?: { readonly max_payload: number };
  publish(subject: string, payload?: Uint8Array | string, options?: { reply?: string }): void;
  request(
    subject: string,
    payload?: Uint8Array | string,
    options?: { timeout: number; headers?: NatsHeaders },
  ): Promise<NatsMessage>;
  subscribe(
    subject: string,
    options?: { callback?: (error: Error | null, message: NatsMessage) => void },
  ): { drain(): Promise<void>; unsubscribe(): void };
  flush(): Promise<void>;
  status(): AsyncIterable<{ readonly type: string }>;
  closed(): Promise<void | Error>;
  isClosed(): boolean;
  close(): Promise<void>;
}

export type NatsSource = NatsConnection | (() => Promise<NatsConnection>);

export function natsSource(option: string, value: unknown): NatsSource {
  if (value === undefined) throw optionInvalid(option, "a NATS connection", undefined);
  return value as NatsSource;
}

export interface NatsWatcher {
  /** The server cannot be reached; pull requests and answers under way are gone. */
  lost(error: Error): void;
  /** Connected, for the first time or again. */
  back(connection: NatsConnection): void;
}

const openMsMax = 30_000;

/** One connection at a time, and whether it is of use right now. */
export class NatsLink {
  readonly #source: NatsSource;
  readonly #environment: Environment;
  readonly #opening: Opening<NatsConnection>;
  readonly #watcher: NatsWatcher | undefined;
  #connection: NatsConnection | undefined;
  #status: { stop?(): void } | undefined;
  #connected = false;
  #closed = false;

  constructor(source: NatsSource, environment: Environment, watcher?: NatsWatcher) {
    this.#source = source;
    this.#environment = environment;
    this.#opening = new Opening(environment, () => this.#make());
    this.#watcher = watcher;
  }

  /** The connection if it is of use right now. */
  get current(): NatsConnection | undefined {
    return this.#connected ? this.#connection : undefined;
  }

  /** Connected or not: a client keeps small messages for its server until it is back. */
  get connection(): NatsConnection | undefined {
    return this.#connection;
  }

  /** Throws at once while the server is known to be away. */
  async open(): Promise<NatsConnection> {
    if (!this.#closed && this.#connection !== undefined && !this.#connection.isClosed()) {
      if (this.#connected) return this.#connection;
      throw new Error("nats: not connected; the client is trying to reconnect");
    }
    return this.#opening.open();
  }

  /** Opens until it succeeds or is closed. */
  async openPatiently(failed: (error: Error) => void): Promise<void> {
    while (!this.#closed && this.current === undefined) {
      try {
        await this.open();
      } catch (error) {
        failed(asError(error));
        await this.#opening.pause();
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    void this.#opening.end(new Error("nats: closed by this program"));
    this.#connected = false;
    this.#status?.stop?.();
    const connection = this.#connection;
    this.#connection = undefined;
    if (typeof this.#source === "function" && connection !== undefined) await connection.close().catch(() => undefined);
  }

  async #make(): Promise<NatsConnection> {
    const source = this.#source;
    const connection =
      typeof source === "function"
        ? await withDeadline(this.#environment, openMsMax, source, (late) => void late.close().catch(() => undefined))
        : source;
    if (connection.isClosed())
      throw new Error(
        "nats: the connection is closed for good; set maxReconnectAttempts: -1 on it, or give a function that makes a new one",
      );
    this.#adopt(connection);
    return connection;
  }

  #adopt(connection: NatsConnection): void {
    this.#connection = connection;
    this.#connected = true;
    void this.#watch(connection);
    void connection.closed().then((reason) => {
      if (this.#connection !== connection) return;
      this.#connected = false;
      this.#watcher?.lost(new Error("nats: connection closed", { cause: reason }));
    });
    this.#watcher?.back(connection);
  }

  async #watch(connection: NatsConnection): Promise<void> {
    const status = connection.status();
    this.#status = status as { stop?(): void };
    for await (const { type } of status) {
      if (this.#connection !== connection || connection.isClosed()) return;
      if (type === "disconnect" && this.#connected) {
        this.#connected = false;
        this.#watcher?.lost(new Error("nats: connection lost; the client is trying to reconnect"));
      } else if (type === "reconnect" && !this.#connected) {
        this.#connected = true;
        this.#watcher?.back(connection);
      }
    }
  }
}
