/**
 * What `ctx.transaction` answers becomes bytes by the framework's own serialisers and hooks, as any answer does, while the
 * transaction is open: what they hide must not be stored, nor sent. Where an adapter cannot do that, the value itself is
 * serialised.
 */
import { answerOf, checkAnswer } from "./answer.ts";
import { IchidoError } from "../contract/errors.ts";
import type { Execution, HandlerOutcome, Settled } from "../contract/decision.ts";
import type { NeutralResponse } from "../contract/message.ts";
import type { AnswerLike } from "../contract/options.ts";

export interface Rendering {
  render(this: void, answer: AnswerLike): Promise<NeutralResponse>;
  /** What to send in the end, if the outcome is what is being rendered; undefined if it is the handler's own. */
  take(outcome: HandlerOutcome): Promise<Settled> | undefined;
  /** What has become of the answer; undefined where nothing was rendered. */
  end(settled: () => Settled | Promise<Settled>): void;
}

export function createRendering(execution: Pick<Execution, "presenter">): Rendering {
  let expected: { readonly status: number; readonly made: PromiseWithResolvers<NeutralResponse> } | undefined;
  let ended: PromiseWithResolvers<Settled> | undefined;

  return {
    async render(answer) {
      checkAnswer(answer);
      if (ended !== undefined)
        throw new IchidoError("usage-invalid", "the framework has an answer of ctx.transaction already");
      expected = { status: answer.status, made: Promise.withResolvers<NeutralResponse>() };
      const { made } = expected;
      if (execution.presenter?.present(answer) === true) return made.promise;
      expected = undefined;
      return answerOf(answer);
    },
    take(outcome) {
      if (expected === undefined || ended !== undefined || outcome.kind !== "answered") return undefined;
      const { status, made } = expected;
      const { response } = outcome;
      expected = undefined;
      if (response.status >= 400 && response.status !== status) {
        const what = `the framework answered ${response.status} in place of what ctx.transaction returned`;
        made.reject(new IchidoError("transaction-aborted", what));
        return undefined;
      }
      ended = Promise.withResolvers<Settled>();
      made.resolve({ ...response, status });
      return ended.promise;
    },
    end(settled) {
      if (ended !== undefined) void Promise.resolve(settled()).then(ended.resolve);
    },
  };
}
