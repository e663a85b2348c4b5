/** How a first program opens its store. */
export interface FirstStore {
  readonly packages: readonly string[];
  readonly devPackages?: readonly string[];
  /** A dependency that tells that a project uses it. */
  readonly sign?: string;
  readonly imports: readonly string[];
  readonly open: readonly string[];
  readonly close: string;
  /** Whether `ichido migrate` has something to do. */
  readonly hasTables: boolean;
  /** What has to be there before it runs. */
  readonly needs?: string;
}

export const stores = {
  sqlite: {
    packages: [],
    imports: ['import { openSqliteStore } from "ichido/sqlite";'],
    open: ['const store = await openSqliteStore(process.env["KEYS_FILE"] ?? "keys.db");'],
    close: "await store.close();",
    hasTables: true,
  },
  postgres: {
    packages: ["pg"],
    devPackages: ["@types/pg"],
    sign: "pg",
    imports: ['import pg from "pg";', 'import { postgresStore } from "ichido/postgres";'],
    open: [
      'const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });',
      "const store = postgresStore(pool);",
    ],
    close: "await pool.end();",
    hasTables: true,
    needs: "DATABASE_URL=postgres://user:password@localhost:5432/shop",
  },
  mysql: {
    packages: ["mysql2"],
    sign: "mysql2",
    imports: ['import { createPool } from "mysql2/promise";', 'import { mysqlStore } from "ichido/mysql";'],
    open: [
      'const pool = createPool(process.env["DATABASE_URL"] ?? "mysql://root@localhost:3306/shop");',
      "const store = mysqlStore(pool);",
    ],
    close: "await pool.end();",
    hasTables: true,
    needs: "DATABASE_URL=mysql://user:password@localhost:3306/shop",
  },
  redis: {
    packages: ["ioredis"],
    sign: "ioredis",
    imports: ['import { Redis } from "ioredis";', 'import { redisStore } from "ichido/redis";'],
    open: [
      'const redis = new Redis(process.env["REDIS_URL"] ?? "redis://localhost:6379");',
      "// At most once while Redis remembers: for money, keep keys in the database that holds the money.",
      "const store = redisStore(redis);",
    ],
    close: "await redis.quit();",
    hasTables: false,
    needs: "REDIS_URL=redis://localhost:6379",
  },
} as const satisfies Readonly<Record<string, FirstStore>>;

export type StoreName = keyof typeof stores;
export const storeNames = Object.keys(stores) as StoreName[];
