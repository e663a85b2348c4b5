/** `ichido/client`: a key that belongs to the intent, retries that are safe. No dependencies; browsers and Node. */
export { type Attempt, type Attempts } from "./attempt.ts";
export {
  createClient,
  type Answer,
  type Client,
  type ClientClock,
  type ClientOptions,
  type Result,
  type SendOptions,
  type UnknownReason,
} from "./client.ts";
export { ClientError, type ClientErrorCode } from "./errors.ts";
export { compositeKey, contentKey, uuidV4, uuidV7, type KeySource } from "./key-source.ts";
export { type ServerPolicy } from "./policy.ts";
export { retryDefaults, type ProblemDocument, type RetryOptions } from "./retry-policy.ts";
export { browserStorage, memoryStorage, tabStorage, type AttemptStorage } from "./storage.ts";
