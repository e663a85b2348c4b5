/** Mutations of TanStack Query whose key is part of their variables, so that a restored mutation still has it. */
import { expectNames } from "../client/client-options.ts";
import type { Attempt, Attempts } from "../client/attempt.ts";
import type { Result } from "../client/result.ts";

/** Plain JSON: persisted with the mutation, and sent again after a restart under the same key. */
export interface AttemptVariables<Input> {
  readonly input: Input;
  readonly attempt: Pick<Attempt, "name" | "key" | "bornAtMs" | "resumed">;
}

export interface AttemptMutationOptions<Input> {
  readonly client: { readonly attempts: Attempts };
  /** By it restored mutations find their function: `queryClient.setMutationDefaults(mutationKey, options)`. */
  readonly mutationKey: readonly unknown[];
  /** The intent: `(cart) => "checkout:" + cart.id`. */
  readonly name: (input: Input) => string;
  /** The payload that the key is bound to. Default: the input. */
  readonly payload?: (input: Input) => unknown;
  readonly send: (input: Input, attempt: Attempt) => Promise<Result>;
}

export interface AttemptMutation<Input> {
  /** For `useMutation` and `setMutationDefaults`. The client retries; the query client must not. */
  readonly options: {
    readonly mutationKey: readonly unknown[];
    readonly mutationFn: (variables: AttemptVariables<Input>) => Promise<Result>;
    readonly retry: false;
  };
  /** `mutation.mutate(await pay.variables(cart))` */
  readonly variables: (input: Input) => Promise<AttemptVariables<Input>>;
}

export function attemptMutation<Input>(given: AttemptMutationOptions<Input>): AttemptMutation<Input> {
  expectNames("attemptMutation", given, "client mutationKey name payload send");
  const { client, mutationKey, name, payload = (input: Input): unknown => input, send } = given;
  return {
    options: {
      mutationKey,
      mutationFn: ({ input, attempt }) => send(input, attempt),
      retry: false,
    },
    variables: async (input) => {
      const { name: intent, key, bornAtMs, resumed } = await client.attempts.create(name(input), payload(input));
      return { input, attempt: { name: intent, key, bornAtMs, resumed } };
    },
  };
}
