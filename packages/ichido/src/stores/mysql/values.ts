/** Values of the contract → parameters: bytes, integers and null. Text goes out as UTF-8 bytes. */
import { IchidoError } from "../../core/contract/errors.ts";
import type { Fingerprint, Identity, StoredResponse } from "../../core/contract/record.ts";
import type { Claim } from "../../core/contract/store.ts";
import { bufferOf } from "../../sql/statement.ts";
import { encodeHeaders, encodeLabels } from "../encoding.ts";
import { integerOf } from "./client.ts";
import type { Value, Values } from "./dialect.ts";

/** Widths of the columns. Checked here because a server without strict mode would cut what is too long, silently. */
const widths = { text: 1_020, owner: 32, hash: 32, blob: 65_535, mediumBlob: 16_777_215 } as const;
const integerMax = 2_147_483_647;

function fitting(what: string, bytes: Buffer, width: number): Buffer {
  if (bytes.length <= width) return bytes;
  throw new IchidoError(
    "option-invalid",
    `${what} has ${bytes.length} bytes, more than the ${width} its column holds; shorten it`,
  );
}

export function text(what: string, value: string, width: number = widths.text): Buffer {
  return fitting(what, Buffer.from(value, "utf8"), width);
}

export function optionalText(what: string, value: string | undefined, width?: number): Value {
  return value === undefined ? null : text(what, value, width);
}

export const longText = (what: string, value: string | undefined): Value => optionalText(what, value, widths.blob);

function smallInteger(what: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= integerMax) return value;
  throw new IchidoError("option-invalid", `${what}: expected an integer from 0 to ${integerMax}, got ${value}`);
}

export function identityValues(
  identity: Pick<Identity, "key" | "scopeHash">,
): Values & { readonly key: Buffer; readonly scopeHash: Buffer } {
  const scopeHash = bufferOf(identity.scopeHash);
  if (scopeHash.length !== widths.hash) {
    throw new IchidoError("option-invalid", `scopeHash: expected ${widths.hash} bytes, got ${scopeHash.length}`);
  }
  return { key: text("the key", identity.key), scopeHash };
}

export function scopeValues(identity: Identity): Values {
  return {
    tenant: optionalText("tenant", identity.tenant),
    principal: optionalText("principal", identity.principal),
    operation: text("operation", identity.operation),
  };
}

export interface ClaimValues {
  readonly [name: string]: Value;
  readonly key: Buffer;
  readonly scopeHash: Buffer;
  readonly owner: Buffer;
  readonly fence: number;
}

export function claimValues(claim: Claim): ClaimValues {
  return { ...identityValues(claim.identity), owner: ownerValue(claim.owner), fence: integerOf(claim.fence) };
}

export function ownerValue(owner: string): Buffer {
  return text("owner", owner, widths.owner);
}

export function fingerprintValues(fingerprint: Fingerprint): Values {
  return {
    version: smallInteger("fingerprint version", fingerprint.version),
    raw: fitting("raw hash", bufferOf(fingerprint.raw), widths.hash),
    canonical: fitting("canonical hash", bufferOf(fingerprint.canonical), widths.hash),
    former: fingerprint.former === undefined ? null : fitting("former hash", bufferOf(fingerprint.former), widths.hash),
  };
}

export const stepName = (name: string): Buffer => text("step name", name);

export function labelValue(labels: Readonly<Record<string, string>> | undefined): Value {
  const encoded = encodeLabels(labels);
  return encoded === null ? null : text("labels", encoded, widths.blob);
}

const statusMax = 999;

export function responseValues(response: StoredResponse | undefined): Values {
  if (response === undefined) return { kind: null, status: null, bytes: 0, headers: null, body: null };
  if (!Number.isInteger(response.status) || response.status < 0 || response.status > statusMax) {
    throw new IchidoError(
      "value-not-serialisable",
      `status ${response.status}: expected an integer up to ${statusMax}`,
    );
  }
  return {
    kind: text("kind", response.kind),
    status: response.status,
    bytes: response.body.length,
    headers: text("headers", encodeHeaders(response.headers), widths.mediumBlob),
    body: bufferOf(response.body),
  };
}
