/**
 * Runs after all guards (whose user the scope needs) and before pipes and handler. The capture takes what goes over the
 * wire, after every interceptor, serializer and filter; a replay passes none of them again.
 */
import { engineOption, knownOptions, optionInvalid } from "../../core/contract/option-checks.ts";
import type { Decider } from "../../core/contract/options.ts";
import type { NeutralResponse } from "../../core/contract/message.ts";
import { createNodeGuard, wireNames, type NodeGuard, type WireOptions } from "../../http/node-guard.ts";
import type { PolicyOptions } from "../../policy/described-route.ts";
import { refuseEventSource, routeOptionsOf } from "./decorators.ts";
import { answersItself, withEarlyAnswer, type EarlyAnswer } from "./early-answer.ts";
import { nestExchange } from "./exchange.ts";
import { shieldHandler } from "./handler-shield.ts";
import type { CallHandlerLike, ExecutionContextLike, ObservableLike, SubscriberLike } from "./shapes.ts";

export interface NestIdempotencyOptions<Request = unknown> extends WireOptions {
  readonly ichido: Decider<Request>;
  /**
   * Publishes the policy of all protected routes at `/.well-known/idempotency`, without authentication and without the
   * global prefix. Default false.
   */
  readonly policy?: boolean | PolicyOptions;
}

type Subscribe = (subscriber: SubscriberLike) => (() => void) | undefined;

/** An observable of the application's own rxjs, by the class of the one that Nest gives, which is not subscribed to. */
function observable(next: CallHandlerLike, subscribe: Subscribe): ObservableLike {
  const Observable = next.handle().constructor as new (subscribe: Subscribe) => ObservableLike;
  return new Observable(subscribe);
}

/** For interceptors around this one: they see the value that was sent, but their changes to it are not sent. */
function valueOf(answer: NeutralResponse | undefined): unknown {
  if (answer === undefined || answer.body.length === 0) return undefined;
  try {
    return JSON.parse(Buffer.from(answer.body).toString()) as unknown;
  } catch {
    return undefined;
  }
}

export class IdempotencyInterceptor {
  readonly #ichido: Decider<never>;
  readonly #wire: WireOptions;
  readonly #guards = new WeakMap<object, NodeGuard<never>>();

  constructor(options: NestIdempotencyOptions<never>) {
    knownOptions("IdempotencyModule", options, { ...wireNames, ichido: true, policy: true });
    const { ichido, policy = false, ...wire } = options;
    if (typeof policy !== "boolean" && typeof policy !== "object") {
      throw optionInvalid("policy", "true, false or { scope }", policy);
    }
    engineOption(ichido);
    this.#ichido = ichido;
    this.#wire = wire;
  }

  #guardOf(context: ExecutionContextLike): NodeGuard<never> | undefined {
    const options = context.getType() === "http" ? routeOptionsOf(context) : undefined;
    if (options === undefined) return undefined;
    // The decorator does not see `@Sse()` where that stands above it.
    refuseEventSource(context.getHandler());
    const guard = this.#guards.get(options) ?? createNodeGuard(this.#ichido, options, this.#wire);
    this.#guards.set(options, guard);
    return guard;
  }

  async intercept(context: ExecutionContextLike, next: CallHandlerLike): Promise<ObservableLike> {
    const guard = this.#guardOf(context);
    if (guard === undefined) return next.handle();
    const http = context.switchToHttp();
    const native: unknown = http.getRequest();
    const { request, response, answer, run, silence, setLine } = nestExchange(native, http.getResponse());
    const verdict = await guard.guard(request, response, native as never);
    if (verdict.kind === "answer") {
      const answered = verdict.response;
      if (answered !== undefined) answer(answered);
      silence();
      return observable(next, (subscriber) => {
        subscriber.next(valueOf(answered));
        subscriber.complete();
        return undefined;
      });
    }
    let isProvided = false;
    if (verdict.kind === "run") {
      verdict.execution.onProvided(() => {
        isProvided = true;
      });
      run(verdict);
    }
    const unshield = shieldHandler(request);
    // The handler has answered through its context: anything more is ignored.
    const quieten = (): void => {
      if (isProvided) silence();
    };
    const present = (early: EarlyAnswer): void => {
      if (verdict.kind === "pass" || answersItself(context.getClass(), context.getHandler())) return;
      verdict.execution.presenter = {
        present(answer) {
          for (const [name, value] of Object.entries(answer.headers ?? {})) setLine(name, value);
          return early.give(answer);
        },
      };
    };
    return observable(next, (subscriber) => {
      const subscription = withEarlyAnswer((early) => {
        present(early);
        return next.handle();
      }).subscribe({
        next(value) {
          quieten();
          subscriber.next(value);
        },
        error(error) {
          quieten();
          unshield();
          subscriber.error(error);
        },
        complete() {
          unshield();
          subscriber.complete();
        },
      });
      return () => subscription.unsubscribe();
    });
  }
}
