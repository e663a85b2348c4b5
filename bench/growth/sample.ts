/** What every record of this benchmark holds, whoever wrote it. */
import { sampleRequest } from "../measure.ts";

const dayMs = 86_400_000;
/** Long, so that records in a kept folder are still answered after days. */
export const retentionMs = 30 * dayMs;
/** How long ago filled records were made, and records that are past their retention. */
export const freshAgeMs = dayMs;
export const expiredAgeMs = 2 * retentionMs;

/** As long as the answer of `npm run bench:http`. */
const body = Buffer.from(JSON.stringify({ id: "pay_1", amount: 100, currency: "JPY", note: "x".repeat(80) }));
const headers = [["content-type", "application/json"]] as const;

export const answer = { kind: "full", status: 201, headers, body } as const;

export const requestFor = (key: string): ReturnType<typeof sampleRequest> => sampleRequest(key, retentionMs);
