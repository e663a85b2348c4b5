/**
 * Walks over all records. Redis has no index over them and the store makes none (it would be a second key, and a second
 * key is another server in a cluster): SCAN goes over every key of every master, others' keys included, a page at a time.
 * A walk sees every record that is there from its beginning to its end; of others it sees some; some it sees twice.
 */
import type { Link, ServerLink } from "../../drivers/redis/link.ts";
import type { Names } from "./names.ts";
import { listOf, numberOf, textOf } from "../../drivers/redis/reply.ts";
import { fields, rowOf, type Row } from "./row.ts";

/** Keys that SCAN looks at in one call: well under a millisecond of the server's time. */
const scanCount = "500";

export interface Place {
  readonly server: number;
  readonly cursor: string;
}

export const start: Place = { server: 0, cursor: "0" };

export interface Page {
  readonly rows: readonly { readonly name: string; readonly row: Row }[];
  readonly nowUs: number;
  /** Where to go on; nothing at the end. */
  readonly next: Place | undefined;
}

export async function readPage(link: Link, names: Names, place: Place): Promise<Page> {
  const servers = await link.servers();
  const server = servers[place.server];
  if (server === undefined) return { rows: [], nowUs: 0, next: undefined };
  const scan = ["scan", place.cursor, "match", names.pattern, "count", scanCount, "type", "hash"];
  const [reply, time] = await Promise.all([server.send(scan), server.send(["time"])]);
  const [cursor, found] = listOf(reply);
  const [seconds, microseconds] = listOf(time);
  const nowUs = numberOf(seconds) * 1_000_000 + numberOf(microseconds);
  const rows = await readRows(
    link,
    listOf(found).map((name) => names.fromScan(textOf(name))),
  );
  return { rows, nowUs, next: nextPlace(servers, place, textOf(cursor)) };
}

function nextPlace(servers: readonly ServerLink[], place: Place, cursor: string): Place | undefined {
  if (cursor !== "0") return { server: place.server, cursor };
  return place.server + 1 < servers.length ? { server: place.server + 1, cursor: "0" } : undefined;
}

async function readRows(link: Link, found: readonly string[]): Promise<Page["rows"]> {
  const replies = await Promise.all(found.map((name) => link.sendTo(name, ["hmget", name, ...fields])));
  return found.flatMap((name, index) => {
    const row = rowOf(listOf(replies[index]));
    return row === undefined ? [] : [{ name, row }];
  });
}
