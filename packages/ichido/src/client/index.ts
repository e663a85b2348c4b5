/** `ichido/client`: a key that belongs to the intent, retries that are safe. No dependencies; browsers and Node. */
export { createAttempts, type Attempt, type Attempts } from "./attempt.ts";
export { createClient, type Client, type ClientOptions, type FetchSettings, type SendOptions } from "./client.ts";
export { type ClientClock } from "./clock.ts";
export { ClientError, UnknownOutcomeError, type ClientErrorCode } from "./errors.ts";
export { type IsAnswer } from "./evidence.ts";
export { createFetch, idempotentFetch, type FetchOptions, type IdempotentFetch, type IdempotentInit } from "./fetch.ts";
export { compositeKey, contentKey, uuidV4, uuidV7, type KeySource } from "./key-source.ts";
export { type ServerPolicy } from "./policy.ts";
export { type Answer, type Result, type UnknownReason } from "./result.ts";
export { retryDefaults, type ProblemDocument, type RetryOptions } from "./retry-policy.ts";
export { browserStorage, memoryStorage, tabStorage, type AttemptStorage } from "./storage.ts";
