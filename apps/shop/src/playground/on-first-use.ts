/** Nobody pays for a playground that nobody uses: its code is loaded, and its processes are started, by the first use. */
import type { ShopConfig } from "../config.ts";
import type { World } from "./playground.ts";

export interface Playground {
  /** Gives the one world, started by whoever asks first. A start that failed is tried again by the next. */
  world(this: void): Promise<World>;
  started(this: void): World | undefined;
  /** It keeps its rows in a database server. */
  readonly isServer: boolean;
  stop(): Promise<void>;
}

export function onFirstUse(
  { dataFolder, playgroundDatabaseUrl: databaseUrl }: Pick<ShopConfig, "dataFolder" | "playgroundDatabaseUrl">,
  logLine: (line: string) => void,
): Playground {
  let starting: Promise<World> | undefined;
  let current: World | undefined;
  let stopped = false;

  const start = async (): Promise<World> => {
    const { startWorld } = await import("./playground.ts");
    const started = await startWorld({ dataFolder, databaseUrl, logLine });
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
    isServer: databaseUrl !== undefined,
    async stop() {
      stopped = true;
      const world = await starting?.catch(() => undefined);
      await world?.stop();
    },
  };
}
