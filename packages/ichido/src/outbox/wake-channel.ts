/**
 * Waking relays of other processes on PostgreSQL. A notification is sent outside the user's transactions: inside, it
 * would take a lock that all commits share. Notifications of a few milliseconds become one. A notification is a hint;
 * polling finds what a lost one missed.
 */
import { knownOptions, optionInvalid } from "../core/contract/option-checks.ts";
export interface WakeChannel {
  /** Tells other processes. Never rejects. */
  notify(): void;
  /** Calls `woken` on every notification, until the returned function is called. Connects again by itself. */
  listen(woken: () => void): () => Promise<void>;
}

interface PgListener {
  query(text: string): Promise<unknown>;
  on(event: "notification" | "error" | "end", listener: (given: never) => void): unknown;
  release(destroy?: boolean): void;
}

export interface PgWakePool {
  connect(): Promise<PgListener>;
  query(text: string, values?: unknown[]): Promise<unknown>;
}

export interface PostgresJsWakeClient {
  listen(channel: string, woken: () => void): Promise<{ unlisten(): Promise<void> }>;
  notify(channel: string, payload: string): Promise<unknown>;
}

const channelForm = /^[a-z_][a-z0-9_]{0,62}$/;
export const channelDefault = "ichido_outbox";
const gatherMs = 5;
const reconnectMsFirst = 100;
const reconnectMsMost = 5_000;

function checkChannel(channel: string): string {
  if (!channelForm.test(channel)) throw optionInvalid("channel", "lower-case letters, digits and underscores", channel);
  return channel;
}

/** The first at once, then one in a few milliseconds, and never two under way: a slow database is not flooded. */
function gathered(send: () => Promise<unknown>): () => void {
  let resting = false;
  let again = false;
  const fire = (): void => {
    resting = true;
    const rest = new Promise((resolve) => setTimeout(resolve, gatherMs).unref());
    void Promise.all([send().catch(() => undefined), rest]).then(() => {
      resting = false;
      if (again) fire();
      again = false;
    });
  };
  return () => {
    if (resting) again = true;
    else fire();
  };
}

/** With `pg`: listening takes one connection of the pool. Not through a pooler in transaction mode. */
export function pgWake(pool: PgWakePool, options: { readonly channel?: string } = {}): WakeChannel {
  knownOptions("pgWake", options, { channel: true });
  const channel = checkChannel(options.channel ?? channelDefault);

  function listen(woken: () => void): () => Promise<void> {
    let over = false;
    let waitMs = reconnectMsFirst;
    let client: PgListener | undefined;
    let timer: NodeJS.Timeout | undefined;

    const later = (): void => {
      client?.release(true);
      client = undefined;
      // A connection that breaks while it begins to listen says so twice: by its event and by its statement.
      if (over || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        void connect();
      }, waitMs).unref();
      waitMs = Math.min(reconnectMsMost, waitMs * 2);
    };

    async function connect(): Promise<void> {
      try {
        const made = await pool.connect();
        if (over) return made.release();
        client = made;
        const lose = (): void => {
          if (client === made) later();
        };
        made.on("error", lose);
        made.on("end", lose);
        made.on("notification", woken);
        await made.query(`listen ${channel}`);
        waitMs = reconnectMsFirst;
        // What was notified while this process did not listen is found by looking.
        woken();
      } catch {
        later();
      }
    }

    void connect();
    return async () => {
      over = true;
      clearTimeout(timer);
      const last = client;
      client = undefined;
      // Ended, not given back: it would go on receiving notifications for its next borrower.
      last?.release(true);
    };
  }

  return { notify: gathered(() => pool.query("select pg_notify($1, '')", [channel])), listen };
}

/** With `postgres`, which keeps a connection for listening and connects again by itself. */
export function postgresJsWake(sql: PostgresJsWakeClient, options: { readonly channel?: string } = {}): WakeChannel {
  knownOptions("postgresJsWake", options, { channel: true });
  const channel = checkChannel(options.channel ?? channelDefault);
  return {
    notify: gathered(() => sql.notify(channel, "")),
    listen(woken) {
      const listening = sql.listen(channel, woken).catch(() => undefined);
      return async () => {
        await (await listening)?.unlisten().catch(() => undefined);
      };
    },
  };
}
