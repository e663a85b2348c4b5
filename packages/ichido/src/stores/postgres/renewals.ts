/**
 * The way of renewals. Where the business's own transactions hold every connection of the pool, a heartbeat that waited
 * for one would lose the leases of healthy owners, just when the service is slow. So a renewal that would have to wait
 * goes over a connection of the store's own, opened when it is first needed and closed when it was not needed for a while.
 */
import { withDeadline } from "../../core/deadline.ts";
import type { Environment, Timer } from "../../core/environment.ts";
import type { ClientKind, PgPool } from "./client.ts";
import type { Connection, Prepare } from "./connection.ts";
import { failureKind, keepsConnection } from "./failures.ts";
import { isClientMaker, openOwnClient, type OwnClient } from "./own-client.ts";
import { lendClient, pgConnection } from "./pg-connection.ts";
import { postgresJsConnection } from "./postgres-js-connection.ts";
import { poolStarved } from "../shared/pool-starved.ts";

export interface Renewals extends Pick<Connection, "run"> {
  close(): Promise<void>;
}

/** Longer than any pause between the renewals of one attempt, so that it stays while it is needed. */
const idleMs = 60_000;

/** Every connection is lent, or others wait for one already. */
function isBusy(pool: PgPool): boolean {
  const { waitingCount = 0, options } = pool as PgPool & { waitingCount?: number; options?: { max?: number } };
  return waitingCount > 0 || (pool.idleCount === 0 && pool.totalCount >= (options?.max ?? Number.POSITIVE_INFINITY));
}

export function createRenewals(parts: {
  readonly client: ClientKind;
  readonly connection: Connection;
  readonly prepare: Prepare;
  readonly environment: Environment;
}): Renewals {
  const { client, connection, prepare, environment } = parts;
  const nothing = async (): Promise<void> => undefined;
  if (client.kind === "pg-client") return { ...connection, close: nothing };
  const warn = poolStarved("postgres");
  // The driver tells neither how many connections it has nor how to make another.
  if (client.kind === "postgres-js") {
    return { ...postgresJsConnection(client.sql, prepare === true, warn), close: nothing };
  }
  const { pool } = client;
  let own: { readonly client: OwnClient; readonly connection: Connection } | undefined;
  let opening: Promise<NonNullable<typeof own>> | undefined;
  let idle: Timer | undefined;

  async function letGo(gone: OwnClient | undefined): Promise<void> {
    if (gone === undefined) return;
    if (own?.client === gone) own = undefined;
    await gone.end().catch(() => undefined);
  }

  async function open(): Promise<NonNullable<typeof own>> {
    if (!isClientMaker(pool)) throw new Error("this pool does not tell how it makes its connections");
    const made = await openOwnClient(pool);
    made.unref?.();
    const opened = { client: made, connection: pgConnection(lendClient(made), prepare) };
    own = opened;
    for (const event of ["error", "end"] as const) {
      made.on(event, () => {
        if (own === opened) own = undefined;
      });
    }
    return opened;
  }

  async function ownConnection(timeoutMs: number): Promise<NonNullable<typeof own>> {
    idle?.cancel();
    idle = environment.after(idleMs, () => void letGo(own?.client));
    if (own !== undefined) return own;
    opening ??= open().finally(() => {
      opening = undefined;
    });
    const pending = opening;
    return withDeadline(environment, timeoutMs, () => pending);
  }

  return {
    async run(statement, values, timeoutMs) {
      if (!isBusy(pool)) return connection.run(statement, values, timeoutMs);
      const startedMs = environment.monotonicMs();
      let used: NonNullable<typeof own>;
      try {
        used = await ownConnection(timeoutMs);
      } catch {
        // No more connections are to be had from the server, or the pool is of another make.
        warn();
        return connection.run(statement, values, timeoutMs);
      }
      try {
        const leftMs = Math.max(1, Math.ceil(timeoutMs - (environment.monotonicMs() - startedMs)));
        return await used.connection.run(statement, values, leftMs);
      } catch (error) {
        if (!keepsConnection(error)) void letGo(used.client);
        // What the program does to each connection of its pool (a search path, a role) was not done to this one.
        if (failureKind(error) !== "schema" && failureKind(error) !== "refused") throw error;
        warn();
        return connection.run(statement, values, timeoutMs);
      }
    },
    async close() {
      idle?.cancel();
      await opening?.catch(() => undefined);
      await letGo(own?.client);
    },
  };
}
