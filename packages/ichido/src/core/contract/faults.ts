/**
 * Named points at which a test may make the engine die, hang or throw. In production the hook is absent and a point
 * costs one comparison.
 */
export const faultPoints = [
  "before-claim",
  "after-claim",
  "before-handler",
  "after-handler",
  "before-complete",
  "after-complete",
  "before-release",
  "after-release",
  "before-suspend",
  "after-suspend",
  "before-renew",
  "after-renew",
  "before-step-start",
  "after-step-start",
  "before-step-finish",
  "after-step-finish",
  "before-commit",
  "after-commit",
] as const;

export type FaultName = (typeof faultPoints)[number];

/** May return a promise; a rejection counts as a failure of what follows the point. */
export type FaultPoint = (name: FaultName) => void | Promise<void>;
