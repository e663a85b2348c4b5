/** One LISTEN connection for all waiters of a process. A hint only: polling finds what a lost notification missed. */
import { IchidoError } from "../../core/contract/errors.ts";
import type { ClientKind, PostgresJsSql } from "./client.ts";
import { isClientMaker, openOwnClient } from "./own-client.ts";

/** A connected `Client` of `pg` that no other code uses. The store ends it. */
export interface ListenConnection {
  on(event: "error" | "end" | "notification", listener: (...values: never[]) => void): unknown;
  query(text: string): Promise<unknown>;
  end(): Promise<void>;
}

export interface Listener {
  /** Whether notifications arrive now. */
  readonly healthy: boolean;
  /** Opens the connection unless it is open or was lost a moment ago. Never rejects. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** Notifications of `channel`, until the function returned is called; `onLost` at most once. */
type Subscribe = (onPayload: (payload: string) => void, onLost: () => void) => Promise<() => Promise<unknown>>;

const reopenMs = 1_000;

export function createListener(subscribe: Subscribe, onPayload: (payload: string) => void): Listener {
  let unsubscribe: (() => Promise<unknown>) | undefined;
  let opening: Promise<void> | undefined;
  let healthy = false;
  let closed = false;
  let triedMs = -Infinity;

  async function open(): Promise<void> {
    triedMs = performance.now();
    try {
      const end = await subscribe(onPayload, () => {
        healthy = false;
        unsubscribe = undefined;
      });
      if (closed) await end();
      else {
        unsubscribe = end;
        healthy = true;
      }
    } catch {
      healthy = false;
    } finally {
      opening = undefined;
    }
  }

  return {
    get healthy() {
      return healthy;
    },
    async open() {
      if (healthy || closed || (opening === undefined && performance.now() - triedMs < reopenMs)) return;
      opening ??= open();
      await opening;
    },
    async close() {
      closed = true;
      healthy = false;
      await opening;
      const end = unsubscribe;
      unsubscribe = undefined;
      await end?.().catch(() => {});
    },
  };
}

export function subscriptionFor(
  client: ClientKind,
  listen: true | { connect(): Promise<ListenConnection> },
  channel: string,
): Subscribe {
  if (listen !== true) return subscribeWith(() => listen.connect(), channel);
  if (client.kind === "postgres-js") return subscribePostgresJs(client.sql, channel);
  if (client.kind === "pg-pool" && isClientMaker(client.pool)) {
    const { pool } = client;
    return subscribeWith(() => openOwnClient(pool), channel);
  }
  throw new IchidoError(
    "option-invalid",
    "listen: true needs a Pool of pg or the sql of postgres; for a single client give { connect } that opens another",
  );
}

function subscribeWith(connect: () => Promise<ListenConnection>, channel: string): Subscribe {
  return async (onPayload, onLost) => {
    const connection = await connect();
    let lost = false;
    const lose = (): void => {
      if (lost) return;
      lost = true;
      onLost();
      connection.end().catch(ignore);
    };
    connection.on("error", lose);
    connection.on("end", lose);
    connection.on("notification", (message: { readonly channel: string; readonly payload?: string }) => {
      if (message.channel === channel) onPayload(message.payload ?? "");
    });
    try {
      // The channel is made of digits and letters (`channelFor`).
      await connection.query(`listen ${channel}`);
    } catch (error) {
      connection.end().catch(ignore);
      throw error;
    }
    return async () => {
      lost = true;
      await connection.end();
    };
  };
}

function ignore(): void {}

interface PostgresJsListener {
  listen(channel: string, onPayload: (payload: string) => void): Promise<{ unlisten(): Promise<unknown> }>;
}

/** The driver keeps one connection for all its listeners and opens it again by itself. */
function subscribePostgresJs(sql: PostgresJsSql, channel: string): Subscribe {
  if (!isPostgresJsListener(sql))
    throw new IchidoError("option-invalid", "listen: this sql has no listen(); give { connect }");
  return async (onPayload) => {
    const subscription = await sql.listen(channel, onPayload);
    return () => subscription.unlisten();
  };
}

function isPostgresJsListener(sql: PostgresJsSql): sql is PostgresJsSql & PostgresJsListener {
  return "listen" in sql && typeof sql.listen === "function";
}
