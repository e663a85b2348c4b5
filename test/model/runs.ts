/**
 * What is checked: runs in which everything must hold, mutants that each must be refuted in the run named beside them,
 * and limits, which are runs in which an assumption is dropped and a promise must therefore break.
 */
export type Settings = Readonly<Record<string, number>>;

export interface Run {
  readonly model: "model" | "transaction";
  readonly title: string;
  readonly settings: Settings;
}

/** `onUnknown`, as the model counts. */
const hold = 1;
const verify = 2;
const rerun = 3;

/** Two callers with three attempts between them, unless `later` says less. */
const model = (title: string, settings: Settings): Run => ({
  model: "model",
  title,
  settings: { later: 2, ...settings },
});
const transaction = (title: string, settings: Settings): Run => ({
  model: "transaction",
  title,
  settings: { later: 2, ...settings },
});

const ofHold = { route: hold, step: hold };
const ofVerify = { route: verify, step: rerun };

export const runs = {
  hold: model("hold: two faults", { ...ofHold, faults: 2 }),
  holdMeeting: model("hold: a reconciler and a person", { ...ofHold, looks: 1, decisions: 1 }),
  holdPerson: model("hold: a person, one fault", { ...ofHold, decisions: 1, faults: 1 }),
  holdReconciler: model("hold: a reconciler, one fault", { ...ofHold, looks: 1, faults: 1 }),
  holdPlain: model("hold: calls outside of steps, a person, one fault", {
    ...ofHold,
    plain: 1,
    decisions: 1,
    faults: 1,
  }),
  holdForgets: model("hold: retention, a forgotten fence, two faults", {
    ...ofHold,
    retention: 1,
    forgets: 1,
    faults: 2,
  }),
  holdForward: model("hold: retention, a store clock that leaps ahead", {
    ...ofHold,
    retention: 1,
    forward: 1,
    faults: 1,
  }),
  verify: model("verify: two faults", { ...ofVerify, faults: 2 }),
  verifyMeeting: model("verify: a reconciler and a person", { ...ofVerify, later: 1, looks: 1, decisions: 1 }),
  verifyReconciler: model("verify: a reconciler, one fault", { ...ofVerify, later: 1, looks: 1, faults: 1 }),
  verifyBack: model("verify: retention, a store clock that steps back", {
    ...ofVerify,
    retention: 1,
    back: 1,
    faults: 1,
  }),
  stepVerify: model("rerun, step verify: a provider that lags", { route: rerun, step: verify, lags: 1, faults: 1 }),
  stepHold: model("rerun, step hold: retention, a reconciler", {
    route: rerun,
    step: hold,
    later: 1,
    retention: 1,
    looks: 1,
  }),
  references: model("rerun: a provider that honours references", {
    route: rerun,
    step: rerun,
    honours: 1,
    retention: 1,
    faults: 1,
  }),
  transaction: transaction("transaction: rerun, three faults", { route: rerun, faults: 3 }),
  transactionHold: transaction("transaction: hold, a call before it, two faults", { route: hold, calls: 1, faults: 2 }),
} as const;

/** More of the same, for `npm run model -- --wide`: minutes and some gigabytes. */
export const wideRuns: readonly Run[] = [
  model("wide: hold: three faults", { ...ofHold, faults: 3 }),
  model("wide: hold: a reconciler and a person, one fault", { ...ofHold, looks: 1, decisions: 1, faults: 1 }),
  model("wide: hold: two decisions, one fault", { ...ofHold, decisions: 2, faults: 1 }),
  model("wide: verify: three faults", { ...ofVerify, faults: 3 }),
  model("wide: verify: a reconciler and a person, one fault", {
    ...ofVerify,
    later: 1,
    looks: 1,
    decisions: 1,
    faults: 1,
  }),
  model("wide: verify: a reconciler, two faults", { ...ofVerify, later: 1, looks: 1, faults: 2 }),
  model("wide: step verify: two faults", { route: rerun, step: verify, lags: 1, faults: 2 }),
  transaction("wide: transaction: five faults", { route: rerun, faults: 5, later: 3 }),
];

/** By the names that the model gives them. */
export const mutants: Readonly<Record<string, Run>> = {
  ABSURD_BEYOND_ONCE: runs.verifyBack,
  AGE_OF_THE_FIRST_START: runs.stepVerify,
  COMMIT_UNFENCED: runs.transaction,
  COMPLETED_CHANGES: runs.verify,
  EXPIRY_UNDER_AN_OWNER: runs.references,
  EXPIRY_UNGUARDED: runs.holdForward,
  FENCE_COMPARED: runs.verify,
  FENCE_STAYS: runs.hold,
  GIVEN_BACK_BY_RELEASE: runs.verify,
  HOLD_IS_TAKEN: runs.holdMeeting,
  LANDED_DOES_NOT_WAIT: runs.transaction,
  LANDED_IS_A_CLAIM: runs.transactionHold,
  LATE_ANSWER_RELEASES: runs.verify,
  LEASE_NOT_CHECKED: runs.verify,
  LIVE_IS_TAKEN: runs.verify,
  NONE_TAKES_LAPSED: runs.holdPlain,
  ORIGIN_FORGOTTEN: runs.verify,
  OWNER_COMPARED: runs.holdForgets,
  POLICY_SETTLES_A_HOLD: runs.holdMeeting,
  RECONCILER_RELEASES: runs.verifyReconciler,
  REFERENCE_OF_THE_ATTEMPT: runs.references,
  RELEASE_ENDS_A_HOLD: runs.holdPerson,
  RELEASE_KEEPS_STARTED_STEPS: runs.holdPerson,
  RENEWAL_REVIVES: runs.holdPerson,
  RESENT_AFTER_SEAL: runs.hold,
  RETENTION_ENDS_A_DOUBT: runs.verifyBack,
  SETTLE_UNDER_AN_OWNER: runs.holdPerson,
  SETTLE_UNFENCED: runs.holdPerson,
  STARTED_STEP_IS_CALLED: runs.stepHold,
  STEP_UNFENCED: runs.verify,
  TRUST_SINCE_THE_REPLY: runs.verify,
  WRITES_COMMIT_APART: runs.transaction,
  ZOMBIE_COMPLETES: runs.verify,
};

/** What the promise of one effect rests on. */
export const limits: readonly Run[] = [
  model("calls outside of steps are not held back when the lease is over", { ...ofVerify, plain: 1, later: 1 }),
  model("a process whose clock stood still with its machine does not know that its lease is over", {
    ...ofVerify,
    standstill: 1,
    later: 1,
    faults: 1,
  }),
  model("a store clock that leaps ahead lets two attempts run", { ...ofVerify, forward: 1, later: 1, faults: 1 }),
  model("a store clock that steps back by more than the longest lease lets two attempts run", {
    ...ofVerify,
    back: 2,
    later: 1,
    faults: 1,
  }),
];
