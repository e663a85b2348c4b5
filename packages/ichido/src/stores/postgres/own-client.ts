/** A connection of the store's own, made as the user's pool makes its connections. */
import type { PgClient, PgPool } from "./client.ts";

export interface OwnClient extends PgClient {
  on(event: "error" | "end" | "notification", listener: (...values: never[]) => void): unknown;
  query(text: string): Promise<unknown>;
  query(query: Parameters<PgClient["query"]>[0]): ReturnType<PgClient["query"]>;
  /** Its socket no longer keeps the process alive. */
  unref?(): void;
}

/** `PgPool` names only what every pool has; those of `pg` also know how they make their clients. */
interface ClientMaker {
  readonly Client: new (options: unknown) => OwnClient;
  readonly options: unknown;
}

export function isClientMaker(pool: PgPool): pool is PgPool & ClientMaker {
  return "Client" in pool && typeof pool.Client === "function" && "options" in pool;
}

export async function openOwnClient({ Client, options }: ClientMaker): Promise<OwnClient> {
  const own = new Client(options);
  own.on("error", () => undefined);
  await own.connect();
  return own;
}
