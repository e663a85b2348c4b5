/** Every default of the engine. `docs/reference/options.md` gives the reason for each; a test compares the two. */
export const defaults = {
  profile: "ietf",
  leaseMs: 30_000,
  retentionMs: 86_400_000,
  bodyBytesMax: 1_048_576,
  inFlight: "conflict",
  problemBase: "urn:ichido:problem:",
  storeTimeoutMs: 5_000,
  executionMs: 900_000,
  transactionMs: 30_000,
  verifyMs: 10_000,
  closeMs: 10_000,
  sweepMs: 3_600_000,
  waitersMax: 1_000,
  enforce: true,
  flushMs: 1_000,
  queueMax: 10_000,
  suspectWithinMs: 600_000,
} as const;

/** Bounds that are part of a guarantee and so not options. */
export const limits = {
  leaseMsMin: 50,
  leaseMsMax: 60_000,
  retentionMsMin: 100,
  retentionMsMax: 365 * 86_400_000,
  bodyBytesMaxMax: 64 * 1_048_576,
  waitMsMax: 300_000,
  operationLengthMax: 200,
  labelsMax: 16,
  labelLengthMax: 255,
  /** Below this a retry that comes a day late runs again. */
  retentionMsAdvised: 86_400_000,
  secretLengthMin: 32,
  tickMsMax: 60_000,
  renewBatchMax: 500,
  stepNameLengthMax: 100,
  stepBytesMax: 65_536,
  waitersPerKeyMax: 100,
  /** Outcomes that wait because the store could not take them, and the bytes of their answers. */
  lateWritesMax: 10_000,
  lateBytesMax: 64 * 1_048_576,
  /** In transaction mode, how long a duplicate waits where `inFlight` does not say. */
  lockMsDefault: 2_000,
  storeTimeoutMsMax: 700_000,
  /**
   * How much longer than `callTimeoutMs` the engine waits for a store: no call may take effect after it was given up.
   */
  storeSlackMs: 1_000,
  /** The longest wait for a connection, BEGIN, COMMIT and ROLLBACK, each, where the options of a runner set none. */
  controlMsDefault: 30_000,
  replayCacheRecords: 10_000,
  replayCacheBytes: 64 * 1_048_576,
  /** A handler that has not answered for so long is reported; or after half of `executionMs` where that is less. */
  handlerSilentMs: 60_000,
  sweepBatch: 1_000,
  sweepBudgetMs: 250,
  resourcesMax: 16,
  resourceKindLengthMax: 64,
  resourceIdLengthMax: 255,
  askedByLengthMax: 200,
  /** Of runs, and of all other answers, as many are kept for each record. */
  attemptsPerRecordMax: 100,
  /** Notes in one call of the store that are found by their record: equal answers to one key are one. The rest is counted. */
  attemptBatchMax: 200,
  /** Of those, replays leave room for what is rarer. */
  replayNotesMax: 150,
  /** Of one page of the log. */
  logPageBytesMax: 131_072,
  /** Content that all requests share, such as none, would make a pair of every two. */
  suspectsPerBatchMax: 50,
  suspectsPerIntentMax: 3,
  /** First runs that a process remembers while it looks for another with the same content. */
  intentsMax: 131_072,
  historyPageMax: 1_000,
} as const;
