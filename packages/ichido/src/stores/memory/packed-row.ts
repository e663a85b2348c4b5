/**
 * A completed record as one text. Most of what a store keeps is completed and is not asked for again: as some twenty
 * objects each, such records would be copied and walked through by every garbage collection.
 */
import type { HeaderLine, Identity, OwnerToken, StoredResponse } from "../../core/contract/record.ts";
import type { ClaimOrigin } from "../../core/contract/store.ts";
import { KeptResponse, none, type Row } from "./row.ts";

/** What is put together as JSON. */
type Head = readonly [
  version: number,
  owner: OwnerToken,
  origin: ClaimOrigin,
  fence: number,
  attempts: number,
  doubtStays: boolean,
  leaseUs: number,
  createdUs: number,
  updatedUs: number,
  kind: StoredResponse["kind"],
  status: number,
  headers: readonly HeaderLine[],
];

const hashLength = 32;

export class PackedRow {
  readonly operation: string;
  readonly labels: Row["labels"];
  readonly resources: Row["resources"];
  readonly expiresUs: number;
  readonly bodyBytes: number;
  /** Two or three hashes, the head, the body. */
  readonly #text: string;
  readonly #headFrom: number;

  /** Undefined for a record that is still of use as it is, or has a history. */
  static of(row: Row): PackedRow | undefined {
    const { state, response, steps, audit, interim, holdReason } = row;
    const isPlain = steps.length === 0 && audit.length === 0 && interim === undefined && holdReason === undefined;
    // The engine's hashes have one length. The contract leaves it open, so others are kept as they are.
    const { raw, canonical } = row.fingerprint;
    const isOurs = raw.length === hashLength && canonical.length === hashLength;
    return state === "completed" && response !== undefined && isPlain && isOurs
      ? new PackedRow(row, response)
      : undefined;
  }

  private constructor(row: Row, response: KeptResponse) {
    const { version, raw, canonical, former = "" } = row.fingerprint;
    const { owner, origin, fence, attempts, doubtStays, leaseUs, createdUs, updatedUs } = row;
    const { kind, status, headers, text } = response;
    const head: Head = [
      version,
      owner,
      origin,
      fence,
      attempts,
      doubtStays,
      leaseUs,
      createdUs,
      updatedUs,
      kind,
      status,
      headers,
    ];
    this.operation = row.operation;
    this.labels = row.labels;
    this.resources = row.resources;
    this.expiresUs = row.expiresUs;
    this.bodyBytes = response.bytes;
    this.#headFrom = raw.length + canonical.length + former.length;
    this.#text = flat(raw + canonical + former + JSON.stringify(head) + text);
  }

  unpack({
    key,
    scopeHash,
    tenant,
    principal,
  }: Omit<Identity, "scopeHash" | "operation"> & { scopeHash: string }): Row {
    const text = this.#text;
    const headTo = text.length - this.bodyBytes;
    const [version, owner, origin, fence, attempts, doubtStays, leaseUs, createdUs, updatedUs, kind, status, headers] =
      JSON.parse(text.slice(this.#headFrom, headTo)) as Head;
    const former = text.slice(2 * hashLength, this.#headFrom);
    return {
      state: "completed",
      owner,
      origin,
      fence,
      attempts,
      doubtStays,
      leaseUs,
      fingerprint: {
        version,
        raw: text.slice(0, hashLength),
        canonical: text.slice(hashLength, 2 * hashLength),
        former: former === "" ? undefined : former,
      },
      interim: undefined,
      holdReason: undefined,
      response: new KeptResponse(kind, status, headers, text.slice(headTo)),
      stepsStarted: 0,
      createdUs,
      updatedUs,
      expiresUs: this.expiresUs,
      key,
      scopeHash,
      tenant,
      principal,
      operation: this.operation,
      labels: this.labels,
      steps: none,
      audit: none,
      resources: this.resources,
    };
  }
}

/** A text that was joined keeps its parts alive until it is read. */
function flat(text: string): string {
  text.charCodeAt(text.length - 1);
  return text;
}
