/** ichido/traces: spans by OpenTelemetry's API, which is taken as it is given: nothing is imported. */
import { errorType } from "../core/contract/error-type.ts";
import {
  isTraceparent,
  type Span,
  type SpanAttributes,
  type SpanOptions,
  type Tracing,
} from "../core/contract/tracing.ts";

export interface SpanContextLike {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

/** What is needed of a span of `@opentelemetry/api`; `addLink` is there since 1.9. */
export interface SpanLike {
  spanContext(): SpanContextLike;
  setAttribute(name: string, value: string | number | boolean): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  addLink?(link: { context: SpanContextLike }): unknown;
  end(): void;
}

/** What is needed of `@opentelemetry/api`: pass the module itself. */
export interface OpenTelemetryLike<Context, Made extends SpanLike> {
  readonly ROOT_CONTEXT: Context;
  readonly context: {
    active(): Context;
    with<Value>(context: Context, work: () => Value): Value;
  };
  readonly trace: {
    getTracer(name: string): {
      startSpan(
        name: string,
        options: { kind: number; attributes: Record<string, string | number | boolean> },
        context: Context,
      ): Made;
    };
    setSpan(context: Context, span: Made): Context;
    setSpanContext(context: Context, spanContext: SpanContextLike): Context;
    getSpanContext(context: Context): SpanContextLike | undefined;
  };
}

// Numbers of the API's enumerations SpanKind, SpanStatusCode and TraceFlags.
const kinds = { internal: 0, producer: 3, consumer: 4 } as const;
const failed = 2;
const sampled = 1;

function traceparentOf(context: SpanContextLike | undefined): string | undefined {
  if (context === undefined || (context.traceFlags & sampled) === 0) return undefined;
  const { traceId, spanId, traceFlags } = context;
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  return isTraceparent(text) && !/-0+-/.test(text) ? text : undefined;
}

function contextOf(traceparent: string): (SpanContextLike & { isRemote: boolean }) | undefined {
  if (!isTraceparent(traceparent)) return undefined;
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function present(attributes: SpanAttributes): Record<string, string | number | boolean> {
  const entries = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Record<string, string | number | boolean>;
}

/** A span processor that throws must not change what a request comes to. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // Nothing depends on a span.
  }
}

export function fromOpenTelemetry<Context, Made extends SpanLike>(api: OpenTelemetryLike<Context, Made>): Tracing {
  const { context, trace } = api;

  function spanIn(parent: Context, name: string, { attributes, kind = "internal" }: SpanOptions): Span {
    // Asked for each time: a program may register its provider after it has made its engine.
    const tracer = trace.getTracer("ichido");
    const span = tracer.startSpan(name, { kind: kinds[kind], attributes: present(attributes) }, parent);
    const inside = trace.setSpan(parent, span);
    return {
      get traceparent() {
        return traceparentOf(span.spanContext());
      },
      child: (childName, childAttributes = {}) => spanIn(inside, childName, { attributes: childAttributes }),
      within: (work) => context.with(inside, work),
      link: (traceparent) =>
        quietly(() => {
          const first = contextOf(traceparent);
          if (first === undefined) return;
          span.addLink?.({ context: first });
          span.setAttribute("idempotency.first_trace_id", first.traceId);
        }),
      end: (more = {}, thrown) =>
        quietly(() => {
          for (const [attribute, value] of Object.entries(present(more))) span.setAttribute(attribute, value);
          if (thrown !== undefined) {
            // Not the message: it may quote what the caller sent.
            span.setAttribute("error.type", errorType(thrown.error));
            span.setStatus({ code: failed });
          }
          span.end();
        }),
    };
  }

  return {
    begin(name, options) {
      const remote = options.parent === undefined ? undefined : contextOf(options.parent);
      const parent = remote === undefined ? context.active() : trace.setSpanContext(api.ROOT_CONTEXT, remote);
      return spanIn(parent, name, options);
    },
    current() {
      const traceparent = traceparentOf(trace.getSpanContext(context.active()));
      return traceparent === undefined ? undefined : { traceparent };
    },
  };
}

export type { Span, SpanAttributes, SpanOptions, TraceContext, Tracing } from "../core/contract/tracing.ts";
