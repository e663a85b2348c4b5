/** ichido: an operation takes effect once, however often it is asked for. Stores and adapters have subpaths of their own. */
export { createIchido, type Ichido } from "./core/engine/create-ichido.ts";
export type { Context, StepContext, StepFunction } from "./core/contract/context.ts";
export type { Decision, Execution, HandlerOutcome, Settled } from "./core/contract/decision.ts";
export { defaults, limits } from "./core/contract/defaults.ts";
export { forget, type Forgetting, type ForgettingReport } from "./core/engine/forgetting.ts";
export {
  drainDefaults,
  type DrainedPart,
  type DrainOptions,
  type DrainPart,
  type DrainReport,
  type LeftHandler,
} from "./core/engine/drain.ts";
export type { Health } from "./core/engine/health.ts";
export { systemEnvironment, type Environment, type Timer } from "./core/contract/environment.ts";
export {
  catalogue,
  IchidoError,
  isIchidoError,
  RequestBodyError,
  type ErrorEntry,
  type IchidoErrorCode,
} from "./core/contract/errors.ts";
export type { IchidoEvent, IchidoListener, RequestOutcome } from "./core/contract/events.ts";
export type { Logger } from "./core/contract/logger.ts";
export type { Tracing } from "./core/contract/tracing.ts";
export type { MultipartHash } from "./core/contract/message.ts";
export type { AnswerHead, NeutralRequest, NeutralResponse, RequestBody } from "./core/contract/message.ts";
export type {
  AnswerLike,
  AttemptLogOptions,
  Decider,
  FingerprintOptions,
  IchidoOptions,
  InFlight,
  KeyPolicy,
  Labels,
  OnUnknown,
  Probe,
  ProviderEffect,
  ResolvedRoute,
  RouteOptions,
  SharedOptions,
  VerifyAnswer,
  VerifyRequest,
} from "./core/contract/options.ts";
export type { Problem } from "./core/contract/problem.ts";
export { profiles, type Profile, type ProfileName } from "./core/contract/profiles.ts";
export type {
  Fingerprint,
  HeaderLine,
  Identity,
  Key,
  OwnerToken,
  RecordState,
  Scope,
  ScopeLike,
  StoredResponse,
} from "./core/contract/record.ts";
export { providerProfiles, stepOptionsFor, type ProviderProfile } from "./core/contract/provider-profiles.ts";
export { createReconciler, type Reconciler } from "./core/engine/reconciler.ts";
export {
  reconcilerDefaults,
  type ReconciledOperation,
  type ReconcileRequest,
  type ReconcilerOptions,
} from "./core/engine/reconciler-options.ts";
export type { ReconcilerReport } from "./core/engine/reconciliation.ts";
export { neverKeptHeaders, releasingStatuses } from "./core/engine/recorder.ts";
export type { RunRequest, RunResult } from "./core/engine/run.ts";
export { settle, type Settlement } from "./core/engine/settlement.ts";
export type { StoreHolder } from "./core/engine/store-holder.ts";
export type { StepOptions, StepVerdict } from "./core/contract/options.ts";
export type * from "./core/contract/history.ts";
export type * from "./core/contract/store.ts";
export type { TransactionHandle, TransactionResult } from "./core/contract/transaction.ts";
