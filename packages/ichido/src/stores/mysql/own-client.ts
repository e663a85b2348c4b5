/**
 * A connection of the store's own, made as the user's pool makes its connections. Neither driver has a call for that:
 * the store reads the options that a pool shows, and where a pool shows none, makes no connection.
 */
import { isPool, promiseSide, type DriverClient, type MysqlConnection, type MysqlPoolConnection } from "./client.ts";

export interface OwnClient extends MysqlConnection {
  end(): Promise<unknown>;
  destroy(): unknown;
}

/** Never keeps the process alive. */
export type OpenOwnClient = (onLost: () => void) => Promise<OwnClient>;

interface Emitter {
  on(event: string, listener: (value: never) => void): unknown;
}

interface Socket {
  unref?(): unknown;
}

/**
 * Nothing where the pool is of another make; the pool of `mariadb` shows its options only when it lends a connection.
 */
export function ownClientMaker(client: DriverClient): () => OpenOwnClient | undefined {
  const core = corePoolOf(client);
  if (core !== undefined) return () => (onLost) => openMysql2(core, onLost);
  const side = promiseSide(client);
  if (!isPool(side) || !isEmitter(side)) return () => undefined;
  return mariadbMaker(side);
}

function isEmitter(value: object): value is Emitter {
  return "on" in value && typeof value.on === "function";
}

/** The callback pool of `mysql2`, which is behind its promise pool. */
interface CorePool {
  readonly constructor: new (options: { readonly config: object }) => OwnPool;
  readonly config: { readonly connectionConfig: object };
}

interface OwnPool extends Emitter {
  promise(): { getConnection(): Promise<MysqlPoolConnection & Emitter> };
  end(done: () => void): void;
}

function corePoolOf(client: DriverClient): CorePool | undefined {
  const core: unknown = "pool" in client ? client.pool : client;
  if (typeof core !== "object" || core === null || !("promise" in core) || !("config" in core)) return undefined;
  const { config } = core;
  if (typeof config !== "object" || config === null || !("connectionConfig" in config)) return undefined;
  return typeof config.connectionConfig === "object" ? (core as CorePool) : undefined;
}

/** A pool of one: a bare connection cannot be made from a pool. */
async function openMysql2(core: CorePool, onLost: () => void): Promise<OwnClient> {
  const { connectionConfig } = core.config;
  const own = new core.constructor({
    config: {
      ...core.config,
      // A pool writes itself into these options, so this one gets a copy, of the same class.
      connectionConfig: Object.create(
        Object.getPrototypeOf(connectionConfig) as object | null,
        Object.getOwnPropertyDescriptors(connectionConfig),
      ) as object,
      connectionLimit: 1,
      // As many as the limit: fewer would need a timer.
      maxIdle: 1,
    },
  });
  own.on("connection", ({ stream }: { readonly stream?: Socket }) => stream?.unref?.());
  const end = (): Promise<void> => new Promise((resolve) => own.end(resolve));
  try {
    const connection = await own.promise().getConnection();
    connection.on("error", onLost);
    connection.on("end", onLost);
    return {
      query: (query, values) => connection.query(query, values),
      end,
      destroy: () => connection.destroy(),
    };
  } catch (error) {
    await end();
    throw error;
  }
}

type Settle = (value: unknown) => void;

/** The connection of `mariadb` that its pool hands to listeners of `acquire`. */
interface RawConnection extends Emitter {
  readonly constructor: new (options: object) => RawConnection;
  readonly opts: object;
  readonly socket?: Socket;
  connect(): Promise<unknown>;
  query(parameters: object, resolve: Settle, reject: Settle): void;
  end(parameters: object, resolve: Settle, reject: Settle): void;
  destroy(): void;
}

function isRawConnection(value: unknown): value is RawConnection {
  return (
    typeof value === "object" &&
    value !== null &&
    "opts" in value &&
    typeof value.opts === "object" &&
    "connect" in value &&
    "query" in value
  );
}

/** One listener per pool, however many stores are made over it. */
const mariadbMakers = new WeakMap<Emitter, () => OpenOwnClient | undefined>();

function mariadbMaker(pool: Emitter): () => OpenOwnClient | undefined {
  const known = mariadbMakers.get(pool);
  if (known !== undefined) return known;
  let open: OpenOwnClient | undefined;
  pool.on("acquire", (connection: unknown) => {
    if (open !== undefined || !isRawConnection(connection)) return;
    const { constructor: Connection } = connection;
    // The options are an emitter, too, whose listeners belong to that connection.
    const options = Object.fromEntries(Object.entries(connection.opts).filter(([name]) => !name.startsWith("_")));
    open = (onLost) => openMariadb(new Connection({ ...options }), onLost);
  });
  const maker = (): OpenOwnClient | undefined => open;
  mariadbMakers.set(pool, maker);
  return maker;
}

async function openMariadb(connection: RawConnection, onLost: () => void): Promise<OwnClient> {
  connection.on("error", onLost);
  connection.on("end", onLost);
  await connection.connect();
  connection.socket?.unref?.();
  return {
    query: (query, values) =>
      new Promise((resolve, reject) => connection.query({ sql: query.sql, values, opts: query }, resolve, reject)),
    end: () => new Promise((resolve, reject) => connection.end({}, resolve, reject)),
    destroy: () => connection.destroy(),
  };
}
