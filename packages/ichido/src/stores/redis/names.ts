/**
 * Names of keys and channels. A record is `<prefix>{<digest>}`: the digest of key and scope, so that no byte of a user's
 * key is ever part of a name, a pattern or a hash tag, and 43 characters stand for any identity.
 */
import { hash } from "node:crypto";
import type { Identity } from "../../core/contract/record.ts";

export interface Names {
  record(identity: Pick<Identity, "key" | "scopeHash">): string;
  /**
   * Where the end of a record is published. Channels are not keys: they have the prefix, but never the driver's own.
   */
  channel(recordName: string): string;
  /** Notes about a record, under its own hash tag. */
  own(identity: Pick<Identity, "key" | "scopeHash">, kind: "runs" | "others" | "twins" | "audit"): string;
  readonly journal: Readonly<Record<"log" | "intents" | "pairs" | "audit" | "reasons", string>>;
  /** The index of a label or a resource. */
  index(term: string): string;
  /** Who makes owner tokens that begin like this. */
  process(owners: string): string;
  readonly clock: string;
  readonly probe: string;
  /** What engines told of themselves. */
  readonly engines: string;
  /** Held by the one sweeper at work. */
  readonly sweeper: string;
  /** The glob that SCAN matches record names by. */
  readonly pattern: string;
  /** The name as verbs use it, of one that SCAN gave. */
  fromScan(name: string): string;
}

const digestLength = 43;

export function namesFor(prefix: string, keyPrefix: string): Names {
  /** A claim is most often followed by its own completion; the same key and the same bytes have the same name. */
  let last: { readonly key: string; readonly scopeHash: Uint8Array | undefined; readonly name: string } = {
    key: "",
    scopeHash: undefined,
    name: "",
  };
  return {
    record({ key, scopeHash }) {
      if (key !== last.key || scopeHash !== last.scopeHash) {
        last = { key, scopeHash, name: `${prefix}{${digestOf({ key, scopeHash })}}` };
      }
      return last.name;
    },
    own({ key, scopeHash }, kind) {
      return `${prefix}{${digestOf({ key, scopeHash })}}:${kind}`;
    },
    journal: {
      log: `${prefix}{log}`,
      intents: `${prefix}{log}:intents`,
      pairs: `${prefix}{pairs}`,
      audit: `${prefix}{audit}`,
      reasons: `${prefix}{audit}:reasons`,
    },
    index: (term) => `${prefix}{i:${hash("sha256", term, "base64url")}}`,
    process: (owners) => `${prefix}{p:${owners}}`,
    channel: (recordName) => `${recordName}:end`,
    clock: `${prefix}{clock}`,
    probe: `${prefix}{probe}`,
    engines: `${prefix}{engines}`,
    sweeper: `${prefix}{sweeper}`,
    pattern: `${escapeGlob(keyPrefix + prefix)}{${"?".repeat(digestLength)}}`,
    fromScan: (name) => name.slice(keyPrefix.length),
  };
}

/** The scope hash has a fixed length and comes last, so no two identities give the same bytes. */
function digestOf({ key, scopeHash }: { readonly key: string; readonly scopeHash: Uint8Array }): string {
  return hash("sha256", Buffer.concat([bytesOfKey(key), scopeHash]), "base64url");
}

/** Half a surrogate pair has no UTF-8: such a key goes by its code units, after a byte that UTF-8 never has. */
function bytesOfKey(key: string): Buffer {
  if (key.isWellFormed()) return Buffer.from(key, "utf8");
  return Buffer.concat([Buffer.from([0xff]), Buffer.from(key, "utf16le")]);
}

function escapeGlob(text: string): string {
  return text.replaceAll(/[*?[\]^\\-]/g, String.raw`\$&`);
}
