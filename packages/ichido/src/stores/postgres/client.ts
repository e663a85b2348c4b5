/**
 * The user's own client, by shape: a `Pool` or `Client` of `pg`, or the `sql` of `postgres` (postgres.js). Only what the
 * store calls is named, so that any version with these members fits and none is imported.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import { insideOf, type LibraryInstance } from "../../drivers/library-pool.ts";
import { refuseBinary, type PgTypes } from "../../drivers/pg/types.ts";
import { lentPool } from "./lent-pool.ts";

export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly rowMode: "array";
  readonly types?: PgTypes;
  readonly query_timeout?: number;
  readonly name?: string;
}

export interface PgResult {
  readonly rows: readonly unknown[];
}

export interface PgQueryable {
  /** The process that the server named when the connection was opened; a pooler names one of its own making. */
  readonly processID?: number | null;
  // A method, so that the overloads of `pg` fit.
  query(query: PgQuery): Promise<PgResult>;
}

export interface PgPoolClient extends PgQueryable {
  on(event: "error", listener: () => void): unknown;
  release(destroy?: Error | boolean): void;
}

/** `Pool` of `pg`. */
export interface PgPool {
  connect(): Promise<PgPoolClient>;
  on?(event: "acquire", listener: (client: PgPoolClient) => void): unknown;
  readonly totalCount: number;
  readonly idleCount: number;
}

/** A connected `Client` of `pg` that is used for nothing else, least of all for transactions. */
export interface PgClient extends PgQueryable {
  connect(): Promise<unknown>;
  end(): Promise<void>;
  /** Several queries under way on one connection. */
  readonly pipeline?: boolean;
}

export interface PostgresJsQuery {
  raw(): PromiseLike<unknown>;
  simple(): PromiseLike<unknown>;
  cancel(): unknown;
}

/** `sql` of `postgres` (postgres.js). */
export interface PostgresJsSql {
  // Methods are compared loosely, so that the driver's own parameter types fit.
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): PostgresJsQuery;
  begin?(run: (tx: PostgresJsSql) => Promise<unknown>): Promise<unknown>;
}

type DriverClient = PgPool | PgClient | PostgresJsSql;

/** A library lends connections of its own pool: TypeORM, Knex or Sequelize, on `pg`. */
export type PostgresClient = DriverClient | LibraryInstance;

export type ClientKind =
  | { readonly kind: "pg-pool"; readonly pool: PgPool }
  | { readonly kind: "pg-client"; readonly client: PgClient }
  | { readonly kind: "postgres-js"; readonly sql: PostgresJsSql };

export function kindOf(given: PostgresClient): ClientKind {
  const inside = insideOf(given);
  if (inside?.kind === "lender") return { kind: "pg-pool", pool: lentPool(inside.lender) };
  const client = (inside?.pool ?? given) as DriverClient;
  if (isPostgresJs(client)) return { kind: "postgres-js", sql: withoutRowTransform(client) };
  if (typeof client === "object" && client !== null) refuseBinary(client);
  if (isPool(client)) return { kind: "pg-pool", pool: client };
  if (isClient(client)) return { kind: "pg-client", client };
  throw new IchidoError(
    "option-invalid",
    "client: expected a Pool or Client of pg, the sql function of postgres (postgres.js), or an instance of TypeORM, Knex or " +
      "Sequelize on pg",
  );
}

/**
 * The driver applies such a transform to every row, raw ones as well, and the transform may change a row in any way.
 */
function withoutRowTransform(sql: PostgresJsSql): PostgresJsSql {
  const { options } = sql as {
    readonly options?: { readonly transform?: { readonly row?: { readonly from?: unknown } } };
  };
  if (typeof options?.transform?.row?.from !== "function") return sql;
  throw new IchidoError(
    "option-invalid",
    "client: expected an instance of postgres (postgres.js) without the option transform.row, which changes rows that are " +
      "not yours; make one for ichido without it",
  );
}

function isPostgresJs(client: DriverClient): client is PostgresJsSql {
  return typeof client === "function" && "unsafe" in client;
}

function isPool(client: DriverClient): client is PgPool {
  return typeof client === "object" && client !== null && "idleCount" in client && "connect" in client;
}

function isClient(client: DriverClient): client is PgClient {
  return typeof client === "object" && client !== null && "query" in client && "connect" in client;
}
