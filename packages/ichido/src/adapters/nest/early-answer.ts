/**
 * The answer of `ctx.transaction` is serialised before its commit, and so before the handler returns. To Nest the
 * handler seems to have returned it: every interceptor gets it like any value, once. What the handler itself returns
 * later is ignored.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { AnswerLike } from "../../core/contract/options.ts";
import { metadata } from "./shapes.ts";

export interface EarlyAnswer {
  /** False where the handler returned no promise that could be resolved early. */
  give(answer: AnswerLike): boolean;
}

interface Call {
  resolve: ((value: unknown) => void) | undefined;
}

const calls = new AsyncLocalStorage<Call>();

/** Runs a handler, with the interceptors around it. */
export function withEarlyAnswer<Value>(run: (early: EarlyAnswer) => Value): Value {
  const call: Call = { resolve: undefined };
  const give = ({ body }: AnswerLike): boolean => {
    call.resolve?.(body);
    return call.resolve !== undefined;
  };
  return calls.run(call, () => run({ give }));
}

type Method = (this: unknown, ...values: unknown[]) => unknown;

const isEarly = new WeakSet<object>();

/** Nest and its libraries keep the metadata of decorators on the method itself, so the replacement gets all of it. */
export function letAnswerEarly(target: object, property: string | symbol, descriptor: PropertyDescriptor): void {
  const method = descriptor.value as Method;
  if (isEarly.has(method) && Object.hasOwn(target, property)) return;
  const { defineMetadata, getMetadata, getMetadataKeys } = metadata();
  const standIn: Method = function (...values) {
    const returned = method.apply(this, values);
    const call = calls.getStore();
    if (call === undefined || !(returned instanceof Promise)) return returned;
    const early = Promise.withResolvers<unknown>();
    call.resolve = early.resolve;
    return Promise.race([early.promise, returned]);
  };
  for (const name of ["name", "length"] as const) {
    Object.defineProperty(standIn, name, { configurable: true, value: method[name] });
  }
  for (const key of getMetadataKeys(method)) defineMetadata(key, getMetadata(key, method), standIn);
  isEarly.add(standIn);
  descriptor.value = standIn;
  Object.defineProperty(target, property, descriptor);
}

/** The routes of a controller. For inherited ones the controller gets replacements of its own. */
export function letHandlersAnswerEarly({ prototype }: new () => object): readonly object[] {
  const handlers = new Map<string, object>();
  for (let at = prototype as object; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const property of Object.getOwnPropertyNames(at)) {
      const descriptor = Object.getOwnPropertyDescriptor(at, property);
      if (handlers.has(property) || property === "constructor" || typeof descriptor?.value !== "function") continue;
      if (metadata().getMetadata("path", descriptor.value as object) === undefined) continue;
      letAnswerEarly(prototype as object, property, descriptor);
      handlers.set(property, descriptor.value as object);
    }
  }
  return [...handlers.values()];
}

const [responseParameter, nextParameter] = ["1:", "2:"];

/** A handler with `@Res()` or `@Next()` writes its answer itself; Nest does nothing with its value. */
export function answersItself(controller: object, handler: { readonly name: string }): boolean {
  const { getMetadata } = metadata();
  const parameters = Object.keys((getMetadata("__routeArguments__", controller, handler.name) as object) ?? {});
  if (!parameters.some((each) => each.startsWith(responseParameter) || each.startsWith(nextParameter))) return false;
  return getMetadata("__responsePassthrough__", controller, handler.name) !== true;
}
