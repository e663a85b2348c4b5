/**
 * The way of renewals. Where the business's own transactions hold every connection of the pool, a heartbeat that waited
 * for one would lose the leases of healthy owners, just when the service is slow. So a renewal that would have to wait
 * goes over a connection of the store's own.
 */
import type { Environment } from "../../core/contract/environment.ts";
import { createOwnConnection, type OwnConnectionParts } from "../../drivers/own-connection.ts";
import { patienceMs, poolStarved, starvedMs } from "../../drivers/pool-starved.ts";
import type { ClientKind, PgPool, PostgresJsSql } from "./client.ts";
import type { Connection, Prepare } from "./connection.ts";
import { failureKind, keepsConnection } from "./failures.ts";
import { isClientMaker, openOwnClient, type OwnClient } from "./own-client.ts";
import { endOwnSql, openOwnSql, type OwnSql } from "./own-sql.ts";
import { lendClient, pgConnection } from "./pg-connection.ts";
import { NoConnection, postgresJsConnection } from "./postgres-js-connection.ts";

type Way = Pick<Connection, "run">;

export interface Renewals extends Way {
  close(): Promise<void>;
}

export interface RenewalsParts {
  readonly client: ClientKind;
  readonly connection: Connection;
  readonly prepare: Prepare;
  readonly environment: Environment;
}

interface Held<Client> {
  readonly client: Client;
  readonly connection: Connection;
}

/** How one driver does it. */
interface Ways<Client> extends Omit<OwnConnectionParts<Held<Client>>, "environment"> {
  /** Rejects with `NoConnection` where a renewal would have to wait. */
  readonly atOnce: Way;
  /** However long it takes. */
  readonly waiting: Way;
}

export function createRenewals(parts: RenewalsParts): Renewals {
  const { client, connection } = parts;
  if (client.kind === "pg-client") return { ...connection, close: async () => undefined };
  const warn = poolStarved("postgres");
  return client.kind === "pg-pool"
    ? renewing(waysOfPool(client.pool, parts), warn, parts.environment)
    : renewing(waysOfSql(client.sql, parts.prepare === true, warn), warn, parts.environment);
}

function renewing<Client>(ways: Ways<Client>, warn: () => void, environment: Environment): Renewals {
  const own = createOwnConnection({ ...ways, environment });
  return {
    async run(statement, values, timeoutMs) {
      const startedMs = environment.monotonicMs();
      const left = (): number => Math.max(1, Math.ceil(timeoutMs - (environment.monotonicMs() - startedMs)));
      try {
        return await ways.atOnce.run(statement, values, timeoutMs);
      } catch (error) {
        if (!(error instanceof NoConnection)) throw error;
      }
      let used: Held<Client>;
      try {
        used = await own.get(left());
      } catch {
        // No more connections are to be had from the server, or the pool is of another make.
        warn();
        return ways.waiting.run(statement, values, left());
      }
      try {
        return await used.connection.run(statement, values, left());
      } catch (error) {
        if (!keepsConnection(error)) own.drop(used);
        // What the program does to each connection of its pool (a search path, a role) was not done to this one.
        if (failureKind(error) !== "schema" && failureKind(error) !== "refused") throw error;
        warn();
        return ways.waiting.run(statement, values, left());
      }
    },
    close: () => own.close(),
  };
}

/** Every connection is lent, or others wait for one already. */
function isBusy(pool: PgPool): boolean {
  const { waitingCount = 0, options } = pool as PgPool & { waitingCount?: number; options?: { max?: number } };
  return waitingCount > 0 || (pool.idleCount === 0 && pool.totalCount >= (options?.max ?? Number.POSITIVE_INFINITY));
}

function waysOfPool(pool: PgPool, { connection, prepare }: RenewalsParts): Ways<OwnClient> {
  return {
    atOnce: {
      async run(statement, values, timeoutMs) {
        if (isBusy(pool)) throw new NoConnection("every connection of the pool is in use");
        return connection.run(statement, values, timeoutMs);
      },
    },
    waiting: connection,
    async open(onLost) {
      if (!isClientMaker(pool)) throw new Error("this pool does not tell how it makes its connections");
      const client = await openOwnClient(pool);
      client.unref?.();
      client.on("error", onLost);
      client.on("end", onLost);
      return { client, connection: pgConnection(lendClient(client), prepare) };
    },
    end: ({ client }) => client.end(),
  };
}

/** This driver does not say whether it has a connection left: a statement waits in its queue, or is sent. */
function waysOfSql(sql: PostgresJsSql, prepare: boolean, warn: () => void): Ways<OwnSql> {
  const toldWait = (): "wait" => (warn(), "wait");
  return {
    atOnce: postgresJsConnection(sql, prepare, { waitMs: patienceMs, onStarved: () => "leave" }),
    waiting: postgresJsConnection(sql, prepare, { waitMs: starvedMs, onStarved: toldWait }),
    async open() {
      const client = openOwnSql(sql);
      return { client, connection: postgresJsConnection(client, prepare) };
    },
    end: ({ client }) => endOwnSql(sql, client),
  };
}
