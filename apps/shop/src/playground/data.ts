/** Where the lanes keep their rows, seen from outside: for counting, and for killing connections where there are any. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { LaneName } from "./contract.ts";

export interface PlaygroundData {
  /** For the environment of a lane. */
  variables(lane: LaneName): Readonly<Record<string, string>>;
  /** `total` of one row. `?` stands for a value. */
  count(lane: LaneName, text: string, ...values: readonly string[]): Promise<number>;
  /** What the rows of a lane take, as the database counts it. */
  bytes(lane: LaneName): Promise<number>;
  /** Without what is free to be written anew; the same, where the database does not tell. */
  bytesInUse(lane: LaneName): Promise<number>;
  readonly askBytes: string;
  /** A line to ask the same by hand. */
  ask(lane: LaneName, text: string): string;
  /** Lets the lane go on, ends its connections while one of them writes to its payments, and tells how many. */
  killConnections(lane: LaneName, goOn: () => void): Promise<number>;
  close(): Promise<void>;
}

export interface DatabaseAddress {
  readonly url: string;
  /** In its place on a line for a shell. An address that somebody gave may hold a password: it is not printed. */
  readonly shown: string;
}

export async function openData(folder: string, server: DatabaseAddress | undefined): Promise<PlaygroundData> {
  return server === undefined ? filesIn(folder) : (await import("./data-postgres.ts")).openSchemas(server);
}

const PAGES = "SELECT page_count * page_size AS total FROM pragma_page_count(), pragma_page_size()";

const PAGES_IN_USE =
  "SELECT (page_count - freelist_count) * page_size AS total " +
  "FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()";

function filesIn(folder: string): PlaygroundData {
  const file = (lane: LaneName): string => join(folder, `${lane}.sqlite`);
  const count: PlaygroundData["count"] = async (lane, text, ...values) => {
    const database = new DatabaseSync(file(lane), { readOnly: true, timeout: 1_000 });
    try {
      return Number(database.prepare(text).get(...values)?.["total"] ?? 0);
    } finally {
      database.close();
    }
  };
  return {
    variables: () => ({}),
    count,
    bytes: (lane) => count(lane, PAGES),
    bytesInUse: (lane) => count(lane, PAGES_IN_USE),
    askBytes: PAGES,
    ask: (lane, text) => `sqlite3 ${file(lane)} "${text}"`,
    killConnections: async () => 0,
    close: async () => undefined,
  };
}
