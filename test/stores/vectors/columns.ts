/** What the beds of SQLite and MySQL share: both keep microseconds in columns of much the same names. */
import type { OwnerToken, StoredResponse } from "ichido";
import type { WrittenState } from "../../../packages/ichido/src/core/contract/record.ts";
import { originOf } from "../../../packages/ichido/src/core/record-machine/record.ts";
import { decodeHeaders } from "../../../packages/ichido/src/stores/encoding.ts";
import type { Lying } from "./check.ts";

export type Columns = Readonly<Record<string, unknown>>;

export function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : String(value);
}

export function answerOf(row: Columns, prefix: "response" | "interim"): StoredResponse | undefined {
  const status = row[`${prefix}_status`];
  if (status === null || status === undefined) return undefined;
  return {
    kind: textOf(row[`${prefix}_kind`]) as StoredResponse["kind"],
    status: Number(status),
    headers: decodeHeaders(textOf(row[`${prefix}_headers`])),
    body: row[`${prefix}_body`] as Uint8Array,
  };
}

export function lyingOf(row: Columns): Omit<Lying, "hasSteps" | "interim" | "response"> {
  const state = textOf(row["state"]) as WrittenState;
  const former = row["fingerprint_former"];
  return {
    state,
    owner: textOf(row["owner"]) as OwnerToken,
    origin: originOf(textOf(row["origin"])),
    fence: Number(row["fence"]),
    attempts: Number(row["attempts"]),
    doubtStays: Number(row["doubt_stays"]) === 1,
    leaseUs: state === "processing" ? Number(row["lease_us"]) : 0,
    holdReason: row["hold_reason"] === null ? undefined : textOf(row["hold_reason"]),
    createdUs: Number(row["created_us"]),
    updatedUs: Number(row["updated_us"]),
    expiresUs: Number(row["expires_us"]),
    fingerprint: {
      raw: row["fingerprint_raw"] as Uint8Array,
      canonical: row["fingerprint_canonical"] as Uint8Array,
      former: former === null ? undefined : (former as Uint8Array),
    },
  };
}
