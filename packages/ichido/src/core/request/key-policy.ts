/**
 * What a key gives away. Keys are stored, logged by proxies and shown to people on call, so they should be random, not
 * somebody's address or number; and a key that others can guess lets them collide with it on purpose where a scope is
 * shared.
 */
import type { KeyPolicy } from "../contract/options.ts";
import type { Key } from "../contract/record.ts";

export type KeyVerdict =
  | { readonly verdict: "fine" }
  | {
      readonly verdict: "warn" | "refuse";
      readonly reason: "personal-data" | "low-entropy";
      /** Fit to be shown to the client; never the key itself. */
      readonly detail: string;
    };

/** Below this, a key counts as one that could be guessed. */
export const entropyBitsMin = 64;

// Versions 1 to 8 (RFC 9562): the nil and the max UUID are constants, not keys.
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const ulid = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/i;

const emailAddress = /[^\s@]\s?(?:@|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/i;
/** Order, customer, card and account numbers; a longer one is taken for a random one. */
const bareNumber = /^\d{1,19}$/;
const phoneNumber = /^(?:tel:)?\+?[\d ()./-]+$/i;
const internationalPhoneNumber = /(?:^|\D)(?:\+|%2b)\d{8,15}(?!\d)/i;

export function judgeKey(key: Key, policy: Required<KeyPolicy>): KeyVerdict {
  if (uuid.test(key) || ulid.test(key)) return { verdict: "fine" };
  const personal = judgePersonalData(key, policy.personalData);
  if (personal.verdict === "refuse") return personal;
  const guessable = judgeEntropy(key, policy.lowEntropy);
  return personal.verdict === "fine" || guessable.verdict === "refuse" ? guessable : personal;
}

function judgePersonalData(key: Key, policy: Required<KeyPolicy>["personalData"]): KeyVerdict {
  const looksLike = policy === "allow" ? undefined : personalDataIn(key);
  if (policy === "allow" || looksLike === undefined) return { verdict: "fine" };
  return {
    verdict: policy,
    reason: "personal-data",
    detail: `The key looks like ${looksLike}. Keys are kept and logged: use a random one, such as a UUID.`,
  };
}

function judgeEntropy(key: Key, policy: Required<KeyPolicy>["lowEntropy"]): KeyVerdict {
  if (policy === "allow" || entropyBits(key) >= entropyBitsMin) return { verdict: "fine" };
  return {
    verdict: policy,
    reason: "low-entropy",
    detail: `The key could be guessed (under about ${entropyBitsMin} bits). Use a random one, such as a UUID.`,
  };
}

function personalDataIn(key: string): string | undefined {
  if (emailAddress.test(key)) return "an e-mail address";
  if (bareNumber.test(key)) return "a bare number";
  const digits = key.replace(/\D/g, "").length;
  const isPhoneNumber = phoneNumber.test(key) && digits >= 7 && digits <= 15;
  return isPhoneNumber || internationalPhoneNumber.test(key) ? "a telephone number" : undefined;
}

/** What a word of a language is worth to someone guessing: one of about four thousand. */
const wordBits = 12;
const wordLettersMax = 12;

/**
 * An upper estimate from the look of the key alone: the sum over the pieces between separators, where a piece of letters
 * of one case (or capitalised) is a word, and any other is as many random characters as it has, of the smallest usual alphabet
 * that holds them. Characters that carry on a run (aaa, 345, cba) count nothing from the third on. It cannot see that
 * digits are a date or a counter.
 */
export function entropyBits(key: string): number {
  let bits = 0;
  for (const piece of key.split(/[^A-Za-z0-9]+/)) bits += pieceBits(piece);
  return bits;
}

function pieceBits(piece: string): number {
  const random = countWithoutRuns(piece) * Math.log2(alphabetSize(piece));
  const isWord = piece.length <= wordLettersMax && /^(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)$/.test(piece);
  return isWord ? Math.min(random, wordBits) : random;
}

function alphabetSize(piece: string): number {
  if (/^\d*$/.test(piece)) return 10;
  if (/^(?:[\da-f]*|[\dA-F]*)$/.test(piece)) return 16;
  if (/^(?:[a-z]*|[A-Z]*)$/.test(piece)) return 26;
  if (/^(?:[\da-z]*|[\dA-Z]*)$/.test(piece)) return 36;
  return 62;
}

function countWithoutRuns(piece: string): number {
  let count = 0;
  for (let index = 0; index < piece.length; index += 1) {
    const step = piece.charCodeAt(index) - piece.charCodeAt(index - 1);
    const stepBefore = piece.charCodeAt(index - 1) - piece.charCodeAt(index - 2);
    if (step !== stepBefore || Math.abs(step) > 1) count += 1;
  }
  return count;
}
