/**
 * Runs after all guards (whose user the scope needs) and before pipes and handler. What is captured is what goes over
 * the wire, after every interceptor, serializer and filter; what is replayed passes none of them again.
 */
import type { Execution } from "../../core/contract/decision.ts";
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
   * Publishes the policy of all protected routes at `/.well-known/idempotency`, open to everybody and without the global
   * prefix. Default false.
   */
  readonly policy?: boolean | PolicyOptions;
}

type Subscribe = (subscriber: SubscriberLike) => (() => void) | undefined;

/** An observable of the application's own rxjs: Nest hands one out, and it is not started. */
function observable(next: CallHandlerLike, subscribe: Subscribe): ObservableLike {
  const Observable = next.handle().constructor as new (subscribe: Subscribe) => ObservableLike;
  return new Observable(subscribe);
}

/** For interceptors around this one: they see the value that was sent, though what they make of it is not. */
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
    // Not seen by the decorator where `@Sse()` stands above it.
    refuseEventSource(context.getHandler());
    const guard = this.#guards.get(options) ?? createNodeGuard(this.#ichido, options, this.#wire);
    this.#guards.set(options, guard);
    return guard;
  }

  async intercept(context: ExecutionContextLike, next: CallHandlerLike): Promise<ObservableLike> {
    const guard = this.#guardOf(context);
    if (guard === undefined) return next.handle();
    const http = context.switchToHttp();
    const { exchange, silence, setLine } = nestExchange(http.getRequest(), http.getResponse());
    let answered: NeutralResponse | undefined;
    let isProvided = false;
    let executed: Execution | undefined;
    const verdict = await guard.guard({
      ...exchange,
      answer(response) {
        answered = response;
        exchange.answer?.(response);
      },
      prepare(execution) {
        exchange.prepare?.(execution);
        executed = execution;
        void execution.provided.then(() => {
          isProvided = true;
        });
      },
    });
    if (verdict === "answered") {
      silence();
      return observable(next, (subscriber) => {
        subscriber.next(valueOf(answered));
        subscriber.complete();
        return undefined;
      });
    }
    const unshield = shieldHandler(exchange.request);
    // A handler that answered through its context has nothing more to say.
    const quieten = (): void => {
      if (isProvided) silence();
    };
    const present = (early: EarlyAnswer): void => {
      if (executed === undefined || answersItself(context.getClass(), context.getHandler())) return;
      executed.present = (answer) => {
        for (const [name, value] of Object.entries(answer.headers ?? {})) setLine(name, value);
        return early.give(answer);
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
