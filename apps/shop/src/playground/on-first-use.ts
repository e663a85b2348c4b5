/** Nobody pays for a playground that nobody uses: its code is loaded, and its processes are started, by the first use. */
import type { ShopConfig } from "../config.ts";
import { needsServer } from "./deck.ts";
import { hasOwnPostgres, POSTGRES_PACKAGE } from "./own-postgres.ts";
import type { World } from "./playground.ts";

export interface Playground {
  /** Gives the one world, started by whoever asks first. A start that failed is tried again by the next. */
  world(this: void): Promise<World>;
  started(this: void): World | undefined;
  /** Why it keeps its rows in files, where it does; as far as is known before it has started. */
  noServer(this: void): string | undefined;
  stop(): Promise<void>;
}

export function onFirstUse(
  config: Pick<ShopConfig, "dataFolder" | "playgroundDatabaseUrl" | "playgroundStore">,
  logLine: (line: string) => void,
): Playground {
  const { dataFolder, playgroundDatabaseUrl: databaseUrl } = config;
  const foreseen = whyNoServer(config);
  let starting: Promise<World> | undefined;
  let current: World | undefined;
  let stopped = false;

  const start = async (): Promise<World> => {
    const { startWorld } = await import("./playground.ts");
    const started = await startWorld({ dataFolder, databaseUrl, noServer: foreseen, logLine });
    current = started;
    return started;
  };
  return {
    world() {
      if (stopped) return Promise.reject(new Error("the shop is ending"));
      starting ??= start().catch((error: unknown) => {
        starting = undefined;
        throw error;
      });
      return starting;
    },
    started: () => current,
    noServer: () => (current === undefined ? foreseen : current.noServer),
    async stop() {
      stopped = true;
      const world = await starting?.catch(() => undefined);
      await world?.stop();
    },
  };
}

function whyNoServer({
  playgroundDatabaseUrl,
  playgroundStore,
}: Pick<ShopConfig, "playgroundDatabaseUrl" | "playgroundStore">): string | undefined {
  if (playgroundDatabaseUrl !== undefined) return undefined;
  if (playgroundStore === "sqlite") return needsServer("PLAYGROUND_STORE asks for it");
  return hasOwnPostgres() ? undefined : needsServer(`npm has not installed ${POSTGRES_PACKAGE}`);
}
