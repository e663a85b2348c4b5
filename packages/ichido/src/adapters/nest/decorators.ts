import type { Context } from "../../core/contract/context.ts";
import { IchidoError } from "../../core/contract/errors.ts";
import type { RouteOptions } from "../../core/contract/options.ts";
import { resolveRoute } from "../../core/engine/validate-options.ts";
import { letAnswerEarly, letHandlersAnswerEarly } from "./early-answer.ts";
import { metadata, type ExecutionContextLike, type RequestExtras } from "./shapes.ts";

const optionsKey = Symbol.for("ichido.nest.options");
const handlerKey = Symbol.for("ichido.nest.handler");

type AnyRouteOptions = RouteOptions<never>;

/**
 * Protects a handler, or every handler of a controller. On a controller the operation is a prefix: the handler `create`
 * under `@Idempotent({ operation: "payment" })` is `payment.create`. Options on a handler win.
 */
export function Idempotent<Request = unknown>(options: RouteOptions<Request>): ClassDecorator & MethodDecorator {
  const { defineMetadata } = metadata();
  if (typeof defineMetadata !== "function") {
    throw new IchidoError("usage-invalid", "@Idempotent() needs reflect-metadata; import it before your controllers");
  }
  // A bad option stops the start. Options that the engine may add are assumed here; the first request checks them.
  resolveRoute<Request>({ onUnknown: "hold", statusUrl: () => "/" }, options);
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (descriptor === undefined || property === undefined) {
      for (const handler of letHandlersAnswerEarly(target as new () => object)) {
        defineMetadata(handlerKey, { handler, controller: target }, handler);
      }
      defineMetadata(optionsKey, options, target);
    } else {
      refuseEventSource(descriptor.value as object);
      letAnswerEarly(target, property, descriptor);
      const handler = descriptor.value as object;
      defineMetadata(handlerKey, { handler, controller: target.constructor }, handler);
      defineMetadata(optionsKey, options, handler);
    }
  };
}

const isGet = (method: unknown): boolean => method === 0;

/**
 * Nest sends the head of an event stream before the handler has run: the attempt would count as done when it begins.
 */
export function refuseEventSource(handler: object): void {
  const { getMetadata } = metadata();
  if (getMetadata("__sse__", handler) !== true || isGet(getMetadata("method", handler))) return;
  const remedy = "write the events on the response of @Res(), in a handler of @Post()";
  throw new IchidoError("usage-invalid", `@Sse() under @Idempotent() answers before its handler has run; ${remedy}`);
}

interface Handler {
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- so Nest gives it
  readonly handler: Function;
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- so Nest gives it
  readonly controller: Function;
}

/** Finds the handler behind the function that Nest registers for it, by its metadata. */
export function handlerOf(registered: object): Handler | undefined {
  return metadata().getMetadata(handlerKey, registered) as Handler | undefined;
}

const merged = new WeakMap<object, WeakMap<object, AnyRouteOptions>>();

/** The options of one handler; the same object every time. Undefined where it is not protected. */
export function routeOptionsOf(
  context: Pick<ExecutionContextLike, "getHandler" | "getClass">,
): AnyRouteOptions | undefined {
  const { getMetadata } = metadata();
  const [handler, controller] = [context.getHandler(), context.getClass()];
  const own = getMetadata(optionsKey, handler) as AnyRouteOptions | undefined;
  const shared = getMetadata(optionsKey, controller) as AnyRouteOptions | undefined;
  if (shared === undefined) return own;
  const ofController = merged.get(controller) ?? new WeakMap<object, AnyRouteOptions>();
  merged.set(controller, ofController);
  const options = ofController.get(handler) ?? {
    ...shared,
    operation: `${shared.operation}.${handler.name}`,
    ...own,
  };
  ofController.set(handler, options);
  return options;
}

/** The metadata key under which Nest keeps parameter decorators, and the mark of those that are not its own. */
const parametersKey = "__routeArguments__";
const customMark = "__customRouteArgs__";

function contextOf(_data: unknown, context: ExecutionContextLike): Context | undefined {
  return (context.switchToHttp().getRequest() as RequestExtras).idempotency;
}

/** `pay(@Body() body: Payment, @Idempotency() idempotency: Context)`. Undefined where the request is not protected. */
export function Idempotency(): ParameterDecorator {
  return (target, property, index) => {
    if (property === undefined) return;
    const { defineMetadata, getMetadata } = metadata();
    const parameters = getMetadata(parametersKey, target.constructor, property) as object | undefined;
    const parameter = { index, factory: contextOf, data: undefined, pipes: [] };
    defineMetadata(
      parametersKey,
      { ...parameters, [`ichido${customMark}:${index}`]: parameter },
      target.constructor,
      property,
    );
  };
}
