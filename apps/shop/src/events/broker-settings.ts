/** What all brokers of the shop agree on. */
const DAY_MS = 86_400_000;

/** How many orders are worked on at once; order is kept within each part. */
export const partitions = 8;
/** A consumer that is silent for so long has died: another one goes on. */
export const ackWaitMs = 3_000;
/** How long a broker keeps an event, so how late it may come again. The inbox remembers for longer. */
export const redeliveryMsMax = 3 * DAY_MS;
export const inboxRetentionMs = 14 * DAY_MS;
export const connectMs = 5_000;
