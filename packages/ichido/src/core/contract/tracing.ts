/** Spans, as the rooms that make some see them. `ichido/traces` puts OpenTelemetry behind it; without it there are none. */

/** Never a key, a tenant or a caller; an undefined one is left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

export interface Span {
  /** W3C trace context, where the span is recorded: kept with the answer, so that a replay can name its original. */
  readonly traceparent: string | undefined;
  child(name: string, attributes?: SpanAttributes): Span;
  /** What `work` calls belongs to this span. */
  within<Value>(work: () => Value): Value;
  link(traceparent: string): void;
  end(attributes?: SpanAttributes, error?: { readonly error: unknown }): void;
}

export interface SpanOptions {
  readonly attributes: SpanAttributes;
  readonly kind?: "internal" | "producer" | "consumer";
  /** Beneath that context of another process instead of the active one. */
  readonly parent?: string | undefined;
}

export interface Tracing {
  begin(name: string, options: SpanOptions): Span;
  /** For `createOutbox({ trace })`: the context of the moment, so that a consumer's span belongs to the same trace. */
  readonly current: () => TraceContext | undefined;
}

/** `work` as a span; without one, `work` alone. */
export function spanned<Value>(span: Span | undefined, work: () => Promise<Value>): Promise<Value> {
  return span === undefined ? work() : until(span, work);
}

async function until<Value>(span: Span, work: () => Promise<Value>): Promise<Value> {
  let value: Value;
  try {
    value = await span.within(work);
  } catch (error) {
    span.end({}, { error });
    throw error;
  }
  span.end();
  return value;
}

/**
 * The line of a stored answer that names the span of its first run. It is among the lines that are never given back
 * (`recorder.ts`), by whatever version reads the record, and the handler's own line of this name is never kept: so it
 * needs no column, and no caller sees it.
 */
export const traceLine = "traceparent";

const form = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

export function isTraceparent(text: unknown): text is string {
  return typeof text === "string" && form.test(text);
}
