/**
 * `ichido/react`: the client's attempts in React. One file of the application hands its React over:
 *
 * ```ts
 * "use client";
 * import * as React from "react";
 * import { fromReact } from "ichido/react";
 * export const { useAttempt, IdempotencyField } = fromReact(React);
 * ```
 */
import { createIdempotencyField, type FieldElement, type IdempotencyFieldProps } from "./idempotency-field.ts";
import type { ReactLike } from "./react-like.ts";
import { createUseAttempt, type UseAttempt } from "./use-attempt.ts";

export {
  attemptMutation,
  type AttemptMutation,
  type AttemptMutationOptions,
  type AttemptVariables,
} from "./attempt-mutation.ts";
export type { FieldElement, IdempotencyFieldProps } from "./idempotency-field.ts";
export type { ReactLike } from "./react-like.ts";
export type { AttemptStatus, AttemptView, UseAttempt, UseAttemptOptions } from "./use-attempt.ts";

export function fromReact(react: ReactLike): {
  readonly useAttempt: UseAttempt;
  readonly IdempotencyField: (props: IdempotencyFieldProps) => FieldElement;
} {
  return { useAttempt: createUseAttempt(react), IdempotencyField: createIdempotencyField(react) };
}
