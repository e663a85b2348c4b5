/** Stores by name. Drivers are loaded on demand. */
import type { Place, Purpose } from "./bed.ts";
import type { StoreName } from "./level.ts";

const openers: Readonly<Record<StoreName, (folder: string, purpose: Purpose) => Promise<Place>>> = {
  postgres: async (folder, purpose) => (await import("./postgres.ts")).postgresPlace(folder, purpose),
  sqlite: async (folder, purpose) => (await import("./sqlite.ts")).sqlitePlace(folder, purpose),
  mariadb: async (folder, purpose) => (await import("./mariadb.ts")).mariadbPlace(folder, purpose),
  redis: async (folder, purpose) => (await import("./redis.ts")).redisPlace(folder, purpose),
  memory: async () => (await import("./memory.ts")).memoryPlace(),
};

export const openPlace = (store: StoreName, folder: string, purpose: Purpose): Promise<Place> =>
  openers[store](folder, purpose);
