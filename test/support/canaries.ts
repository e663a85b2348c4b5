/**
 * Values that must turn up nowhere but where they were sent to: made by chance, so that one that is found was not there
 * before, and looked for in every spelling that a log, a URL or a dump might give it.
 */
import { randomBytes, randomUUID } from "node:crypto";

export interface CanaryCall {
  /** A UUID v4, which every profile takes. */
  readonly key: string;
  /** For a body, such as a note or a booking. */
  readonly secret: string;
  /** For the value of a request header. */
  readonly header: string;
  /** For a label, a principal or a tenant: whoever is behind the call. */
  readonly customer: string;
}

export interface Canaries {
  readonly calls: readonly CanaryCall[];
  /** How many values there are. */
  readonly count: number;
  /** The canaries that a text holds, in whatever spelling. */
  foundIn(text: string): readonly string[];
}

const word = (): string => `canary${randomBytes(9).toString("hex")}`;

function spellings(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const plain = value.replaceAll("-", "");
  // The middle of a base64 text is the same wherever the value stands only at offsets of three: all three are looked for.
  const shifted = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .slice(4, -4),
  );
  return [value, plain, value.toUpperCase(), bytes.toString("hex"), ...shifted];
}

/** Four values to a call: a key, something secret in the body and in a header, and a customer. */
export function makeCanaries(calls: number): Canaries {
  const made = Array.from({ length: calls }, () => ({
    key: randomUUID(),
    secret: word(),
    header: word(),
    customer: word(),
  }));
  const all = made.flatMap((call) => Object.values(call));
  const searched = all.map((value) => [value, spellings(value)] as const);
  return {
    calls: made,
    count: all.length,
    foundIn: (text) =>
      searched.filter(([, spelt]) => spelt.some((spelling) => text.includes(spelling))).map(([value]) => value),
  };
}
