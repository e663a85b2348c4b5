/** A record as the record machine knows it, for its tests: its owner `a` is at work. */
import type { OwnerToken, StoredResponse } from "../../packages/ichido/src/core/contract/record.ts";
import type { WholeRecord } from "../../packages/ichido/src/core/record-machine/record.ts";

export const nowUs = 1_800_000_000_000_000;
export const hash = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
export const owner = (name: string): OwnerToken => name as OwnerToken;
export const answer: StoredResponse = { kind: "full", status: 200, headers: [], body: hash(5) };

export const live: WholeRecord = {
  state: "processing",
  owner: owner("a"),
  origin: "new",
  fence: 7,
  attempts: 1,
  fingerprint: { raw: hash(1), canonical: hash(2) },
  leaseUs: nowUs + 1,
  expiresUs: nowUs + 1_000,
  stepsStarted: 0,
  doubtStays: false,
  createdUs: nowUs - 5_000_000,
  updatedUs: nowUs - 1_000,
  steps: [],
  audit: [],
  resources: [],
};
export const lapsed: WholeRecord = { ...live, leaseUs: nowUs };
