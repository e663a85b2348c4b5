/** ichido: an operation takes effect once, however often it is asked for. Stores and adapters have subpaths of their own. */
export { createIchido, type Ichido } from "./core/create-ichido.ts";
export type { Context, StepContext, StepFunction } from "./core/context.ts";
export type { Decision, Execution, HandlerOutcome, Settled } from "./core/decision.ts";
export { defaults, limits } from "./core/defaults.ts";
export type { Health } from "./core/health.ts";
export { systemEnvironment, type Environment, type Timer } from "./core/environment.ts";
export {
  catalogue,
  IchidoError,
  isIchidoError,
  RequestBodyError,
  type ErrorEntry,
  type IchidoErrorCode,
} from "./core/errors.ts";
export type { IchidoEvent, IchidoListener, RequestOutcome } from "./core/events.ts";
export type { MultipartHash } from "./core/multipart.ts";
export type { AnswerHead, NeutralRequest, NeutralResponse, RequestBody } from "./core/message.ts";
export type {
  AnswerLike,
  Decider,
  FingerprintOptions,
  IchidoOptions,
  InFlight,
  KeyPolicy,
  Labels,
  OnUnknown,
  ResolvedRoute,
  RouteOptions,
  SharedOptions,
  VerifyAnswer,
  VerifyRequest,
} from "./core/options.ts";
export type { Problem } from "./core/problem.ts";
export { profiles, type Profile, type ProfileName } from "./core/profiles.ts";
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
} from "./core/record.ts";
export { providerProfiles, stepOptionsFor, type ProviderProfile } from "./core/provider-profiles.ts";
export { createReconciler, type Reconciler } from "./core/reconciler.ts";
export {
  reconcilerDefaults,
  type ReconciledOperation,
  type ReconcileRequest,
  type ReconcilerOptions,
} from "./core/reconciler-options.ts";
export type { ReconcilerReport } from "./core/reconciliation.ts";
export { neverKeptHeaders, releasingStatuses } from "./core/recorder.ts";
export type { RunRequest, RunResult } from "./core/run.ts";
export { settle, type Settlement } from "./core/settlement.ts";
export type { StoreHolder } from "./core/store-holder.ts";
export type { StepOptions, StepVerdict } from "./core/options.ts";
export type * from "./core/store.ts";
export type { TransactionHandle, TransactionResult } from "./core/transaction.ts";
