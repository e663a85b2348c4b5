/** Connections that a library lends, as a pool of `pg`. */
import { otherDatabase, type Lender } from "../../drivers/library-pool.ts";
import type { PgPool, PgPoolClient, PgQueryable } from "./client.ts";

type Raw = PgQueryable & { on(event: string, listener: () => void): unknown };

export function lentPool(lender: Lender): PgPool {
  if (!lender.dialect.startsWith("postgres")) throw otherDatabase("PostgreSQL", lender);
  // The same one each time: what is prepared on a connection is remembered by it.
  const clients = new WeakMap<object, PgPoolClient>();

  function clientOf(raw: Raw): PgPoolClient {
    let client = clients.get(raw);
    if (client === undefined) {
      client = {
        get processID() {
          return raw.processID ?? null;
        },
        query: (query) => raw.query(query),
        on: (event, listener) => raw.on(event, listener),
        release: (destroy) => lender.giveBack(raw, destroy !== undefined && destroy !== false),
      };
      clients.set(raw, client);
    }
    return client;
  }

  const { maker } = lender;
  // Some settings of a connection are hidden from a plain copy, passwords for one.
  const options = Object.create((maker?.options ?? null) as object | null, {
    max: { get: () => lender.counts().max },
  }) as object;
  const pool = {
    options,
    connect: async () => clientOf((await lender.lend()) as Raw),
    get totalCount() {
      return lender.counts().total;
    },
    get idleCount() {
      return lender.counts().idle;
    },
    ...(maker && { Client: maker.Client }),
  };
  return pool;
}
