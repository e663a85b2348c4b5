/** What several statements take alike, in the order of their places. */
import type { Resource } from "../../core/contract/history.ts";
import type { Identity, StoredResponse } from "../../core/contract/record.ts";
import type { Claim } from "../../core/contract/store.ts";
import { bufferOf } from "../../sql/statement.ts";
import { encodeHeaders } from "../encoding.ts";
import { bytesArray, textArray } from "./arrays.ts";
import { encodeText } from "./text.ts";

export function identityValues(identity: Identity): [string, Buffer] {
  return [encodeText(identity.key), bufferOf(identity.scopeHash)];
}

export function claimValues({ identity, owner, fence }: Claim): unknown[] {
  return [...identityValues(identity), owner, String(fence)];
}

export function identityArrays(identities: readonly Identity[]): [string, string] {
  return [
    textArray(identities.map(({ key }) => encodeText(key))),
    bytesArray(identities.map(({ scopeHash }) => scopeHash)),
  ];
}

/** Kind, status, headers, body. */
export function responseValues(response: StoredResponse | undefined): unknown[] {
  if (response === undefined) return [null, null, null, null];
  return [response.kind, String(response.status), encodeHeaders(response.headers), bufferOf(response.body)];
}

/** What an operation made, as `tell` takes it. */
export function toldOf(resources: readonly Resource[] | undefined): string | null {
  if (resources === undefined || resources.length === 0) return null;
  return JSON.stringify(resources.map(({ kind, id }) => [encodeText(kind), encodeText(id)]));
}
