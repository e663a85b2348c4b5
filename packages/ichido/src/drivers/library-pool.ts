/**
 * The pool inside a library: a `DataSource` of TypeORM, a Knex or a Sequelize instance. TypeORM keeps a pool of its driver;
 * the other two lend bare connections of theirs, around which a pool of the driver's shape is put here.
 */
import { IchidoError } from "../core/contract/errors.ts";

/** `DataSource` of TypeORM, initialised. */
export interface TypeormSource {
  readonly isInitialized: boolean;
  readonly driver: object;
}

/** The `knex` function that `knex({ client: "pg" | "mysql2", … })` makes. */
export interface KnexInstance {
  readonly client: { acquireConnection(): Promise<unknown>; releaseConnection(connection: never): Promise<unknown> };
}

/** Sequelize 6. */
export interface SequelizeInstance {
  readonly connectionManager: object;
  getDialect(): string;
}

export type LibraryInstance = TypeormSource | KnexInstance | SequelizeInstance;

/** A library that lends bare connections of its driver. */
export interface Lender {
  readonly dialect: string;
  lend(): Promise<object>;
  giveBack(connection: object, broken: boolean): void;
  /** How many connections it has, how many of them wait to be lent, how many it may have. */
  readonly counts: () => { readonly total: number; readonly idle: number; readonly max: number };
  /** How the driver makes a client of its own, where the library shows it. */
  readonly maker?: { readonly Client: unknown; readonly options: unknown };
}

export type Inside =
  /** A pool of the driver itself. */
  { readonly kind: "pool"; readonly pool: object } | { readonly kind: "lender"; readonly lender: Lender };

/** Undefined for what is none of these libraries. */
export function insideOf(client: unknown): Inside | undefined {
  if ((typeof client !== "object" && typeof client !== "function") || client === null) return undefined;
  if ("driver" in client && "isInitialized" in client) return typeormPool(client as TypeormSource);
  if ("connectionManager" in client && "getDialect" in client) return lenderOf(sequelizeLender(client));
  const inner: unknown = "client" in client ? client.client : undefined;
  if (typeof inner === "object" && inner !== null && "acquireConnection" in inner) return lenderOf(knexLender(inner));
  return undefined;
}

function lenderOf(lender: Lender): Inside {
  return { kind: "lender", lender };
}

function typeormPool({ isInitialized, driver }: TypeormSource): Inside {
  // Of PostgreSQL, and of MySQL.
  const { master, pool = master } = driver as { readonly master?: object; readonly pool?: object };
  if (isInitialized && pool !== undefined) return { kind: "pool", pool };
  throw new IchidoError(
    "option-invalid",
    "client: expected an initialised DataSource with one pool of connections; await dataSource.initialize() first",
  );
}

/** Of the wrong database. */
export function otherDatabase(wanted: string, { dialect }: Lender): IchidoError {
  return new IchidoError("option-invalid", `client: expected an instance for ${wanted}, got one for ${dialect}`);
}

interface KnexClient extends Omit<KnexInstance["client"], "releaseConnection"> {
  releaseConnection(connection: object): Promise<unknown>;
  readonly dialect?: string;
  readonly pool: { numUsed(): number; numFree(): number; readonly max: number };
  readonly driver?: { readonly Client?: unknown };
  readonly connectionSettings?: unknown;
}

function ignore(): void {}

function knexLender(inner: object): Lender {
  const client = inner as KnexClient;
  return {
    dialect: String(client.dialect),
    lend: () => client.acquireConnection() as Promise<object>,
    giveBack(connection, broken) {
      // Knex ends what is marked so before it lends it again.
      if (broken) Object.assign(connection, { __knex__disposed: "given up by ichido" });
      client.releaseConnection(connection).catch(ignore);
    },
    counts: () => ({
      total: client.pool.numUsed() + client.pool.numFree(),
      idle: client.pool.numFree(),
      max: client.pool.max,
    }),
    ...(client.driver?.Client !== undefined && {
      maker: { Client: client.driver.Client, options: client.connectionSettings },
    }),
  };
}

interface SequelizeManager {
  getConnection(options: { readonly type: "write" }): Promise<object>;
  releaseConnection(connection: object): void;
  destroyConnection(connection: object): Promise<unknown>;
  readonly pool: { readonly size: number; readonly available: number; readonly maxSize: number };
}

function sequelizeLender(sequelize: object): Lender {
  const { connectionManager } = sequelize as { readonly connectionManager: SequelizeManager };
  return {
    dialect: (sequelize as SequelizeInstance).getDialect(),
    lend: () => connectionManager.getConnection({ type: "write" }),
    giveBack(connection, broken) {
      if (broken) connectionManager.destroyConnection(connection).catch(ignore);
      else connectionManager.releaseConnection(connection);
    },
    counts: () => {
      const { size, available, maxSize } = connectionManager.pool;
      return { total: size, idle: available, max: maxSize };
    },
  };
}
