/**
 * `ichido/guards`: business writes that can be repeated and refuse what came too late. Each decides in one conditional
 * statement on your own transaction, and answers with a value; none of them retries or throws for an expected outcome.
 */
export {
  checkPreconditions,
  etagOfBytes,
  etagOfVersion,
  parseEntityTags,
  versionOfEtag,
  type EntityTags,
  type PreconditionRequest,
  type PreconditionVerdict,
} from "./conditional.ts";
export { createByClientId, createOnce, type CreateRequest, type CreateResult } from "./natural-key.ts";
export type { Columns, ColumnValue, GuardExecutor } from "./statement.ts";
export { defineTransitions, type MoveRequest, type MoveResult, type StateOf, type Transitions } from "./transitions.ts";
export { updateVersioned, type VersionedResult, type VersionedUpdate } from "./versions.ts";
