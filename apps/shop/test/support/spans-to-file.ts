/** Loaded before a shop by `--import`: a real SDK that writes every span, with all it has, to the file in SPANS_FILE. */
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, SimpleSpanProcessor, type SpanExporter } from "@opentelemetry/sdk-trace-base";
import { appendFileSync } from "node:fs";

const exporter: SpanExporter = {
  export(spans, done) {
    const lines = spans.map(({ name, attributes, events, links, status }) =>
      JSON.stringify({ name, attributes, events, links, status }),
    );
    appendFileSync(process.env["SPANS_FILE"] ?? "spans", `${lines.join("\n")}\n`);
    done({ code: 0 });
  },
  shutdown: () => Promise.resolve(),
};

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
