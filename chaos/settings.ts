/** Times of a run. Leases are short, so that many of them lapse within a minute. */
export const leaseMs = 1_500;
export const callTimeoutMs = 1_000;
export const storeTimeoutMs = 2_500;
export const executionMs = 8_000;
export const transactionMs = 4_000;
/** The longest that a process stands still. */
export const standstillMsMax = 2 * leaseMs;
/** How far the store's clock leaps at most. */
export const leapMsMax = 2 * leaseMs;
/** How slow the machine may be besides. */
export const slackMsDefault = 3_000;
/** A call that was started so long ago, by the store's clock, has arrived or never will: pauses and leaps included. */
export const travelMsMax = (slackMs: number): number => standstillMsMax + leapMsMax + slackMs;
/** How long whoever asks waits for an answer. */
export const answerMs = 900;
/** Calls of the bank. */
export const bankMs = 700;
