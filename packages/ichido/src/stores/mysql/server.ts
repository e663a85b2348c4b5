/** What must be true of the server and its sessions before a claim is sent there. */
import { IchidoError } from "../../core/contract/errors.ts";
import { integerOf } from "./client.ts";
import type { Dialect, Value } from "./dialect.ts";
import type { Run } from "./session.ts";

export interface Server {
  readonly packetBytesMax: number;
  /** MariaDB from 10.5 on: an insert returns rows, and a statement can be told how long it may take. */
  readonly mayGroup: boolean;
}

/** Fails where a claim would fail, or would be made in vain. */
export async function lookAtServer(run: Run, dialect: Dialect): Promise<Server> {
  const [row] = (await dialect.send(run, "ping")).rows;
  const isOff = (name: string): boolean => ["0", "OFF"].includes(String(row?.[name]).toUpperCase());
  if (!isOff("read_only") || !isOff("innodb_read_only")) {
    throw new IchidoError(
      "store-unavailable",
      "the MySQL server is read-only, perhaps a replica; connect to the primary",
    );
  }
  if (integerOf(row?.["autocommit"] ?? 0) !== 1) {
    throw new IchidoError(
      "option-invalid",
      "autocommit is off on this pool's connections, so no claim would ever be committed; give the store a pool that leaves it on",
    );
  }
  return {
    packetBytesMax: integerOf(row?.["packet_bytes_max"] ?? Number.MAX_SAFE_INTEGER),
    mayGroup: returnsRows(String(row?.["version"])),
  };
}

function returnsRows(version: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)\..*mariadb/i.exec(version) ?? [];
  return Number(major) > 10 || (major === "10" && Number(minor) >= 5);
}

/** Refused before it is sent: the server would hang up on it, and it would be sent again. */
export function assertFits(packetBytesMax: number, sql: string, values: readonly Value[]): void {
  // At most: drivers send bytes as hexadecimal digits or with escapes.
  let bytes = sql.length;
  for (const value of values) bytes += Buffer.isBuffer(value) ? 2 * value.length + 16 : 24;
  if (bytes <= packetBytesMax) return;
  throw new IchidoError(
    "value-not-serialisable",
    `a statement of up to ${bytes} bytes does not fit the server's max_allowed_packet of ${packetBytesMax}; raise that, or lower bodyBytesMax`,
  );
}
