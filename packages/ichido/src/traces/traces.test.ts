import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace-base";
import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { idempotent } from "../adapters/node.ts";
import { inProcess } from "../brokers/in-process.ts";
import { createConsumer, createInbox } from "../inbox/index.ts";
import { createIchido, type Identity } from "../index.ts";
import { createOutbox, createRelay } from "../outbox/index.ts";
import { memoryStore } from "../stores/memory/index.ts";
import { sqliteStore } from "../stores/sqlite/index.ts";
import { nodeSqliteTransactions } from "../transactions/index.ts";
import { fromOpenTelemetry } from "./index.ts";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

beforeAll(() => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.trace.setGlobalTracerProvider(provider);
});
afterEach(() => exporter.reset());
afterAll(() => {
  api.trace.disable();
  api.context.disable();
});

const spansOf = (name: string): readonly ReadableSpan[] =>
  exporter.getFinishedSpans().filter((span) => span.name === name);

function only(name: string): ReadableSpan {
  const found = spansOf(name);
  expect(found, name).toHaveLength(1);
  return found[0] as ReadableSpan;
}

const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;
const idOf = (span: ReadableSpan): string => span.spanContext().spanId;

async function serve(listener: http.RequestListener): Promise<{ url: string; close: () => void }> {
  const server = http.createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

const key = "0f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const engineOptions = { scope: () => ({ principal: "somebody" }), onUnknown: "rerun" } as const;

describe("a request", () => {
  it("is a span with claim, steps and completion beneath it; a replay links to it", async () => {
    const store = memoryStore();
    const ichido = createIchido<http.IncomingMessage>({ store, ...engineOptions, tracing: fromOpenTelemetry(api) });
    let inStep: string | undefined;
    const pay = idempotent(ichido, { operation: "payment.create" }, async (_request, response, context) => {
      await context?.step("bank.charge", () => {
        inStep = api.trace.getActiveSpan()?.spanContext().spanId;
        return null;
      });
      response.writeHead(201, { traceparent: "the handler's own" }).end("paid");
    });
    const server = await serve((request, response) => void pay(request, response));
    try {
      const send = () => fetch(server.url, { method: "POST", headers: { "idempotency-key": key }, body: "{}" });
      expect((await send()).status).toBe(201);
      const first = only("idempotency.request");
      expect(first.attributes).toMatchObject({
        "idempotency.operation": "payment.create",
        "idempotency.outcome": "executed",
        "idempotency.key_hash": expect.stringMatching(/^[0-9a-f]{8}$/),
        "idempotency.attempt": 1,
        "http.response.status_code": 201,
      });
      for (const name of ["idempotency.claim", "idempotency.step", "idempotency.complete"]) {
        expect(parentOf(only(name)), name).toBe(idOf(first));
      }
      expect(only("idempotency.step").attributes).toEqual({ "idempotency.step": "bank.charge" });
      expect(inStep, "what a step calls belongs to it").toBe(idOf(only("idempotency.step")));

      exporter.reset();
      const again = await send();
      expect(again.headers.get("idempotency-replayed")).toBe("true");
      expect(again.headers.has("traceparent"), "a caller never sees it").toBe(false);
      const replay = only("idempotency.request");
      expect(replay.attributes["idempotency.outcome"]).toBe("replayed");
      expect(replay.links.map(({ context }) => [context.traceId, context.spanId])).toEqual([
        [first.spanContext().traceId, idOf(first)],
      ]);
      expect(replay.attributes["idempotency.first_trace_id"]).toBe(first.spanContext().traceId);
      expect(replay.spanContext().traceId).not.toBe(first.spanContext().traceId);
      expect(JSON.stringify([first, replay].map(({ attributes }) => attributes))).not.toContain(key);
    } finally {
      server.close();
      await ichido.close();
    }
  });

  it("is beneath the span that is active, and every refusal ends its span", async () => {
    const ichido = createIchido<http.IncomingMessage>({
      store: memoryStore(),
      ...engineOptions,
      tracing: fromOpenTelemetry(api),
    });
    const tracer = api.trace.getTracer("a framework");
    const pay = idempotent(ichido, { operation: "payment.create" }, (_request, response) => response.end("paid"));
    const server = await serve((request, response) =>
      tracer.startActiveSpan("POST /payments", (span) => {
        response.once("close", () => span.end());
        void pay(request, response);
      }),
    );
    try {
      const send = (body: string, headers: Record<string, string> = { "idempotency-key": key }) =>
        fetch(server.url, { method: "POST", headers, body });
      expect((await send("1")).status).toBe(200);
      expect((await send("2")).status).toBe(422);
      expect((await send("1", {})).status).toBe(400);
      const requests = spansOf("idempotency.request");
      expect(requests.map(({ attributes }) => attributes["idempotency.outcome"])).toEqual([
        "executed",
        "key_reused",
        "key_missing",
      ]);
      const outer = new Set(spansOf("POST /payments").map(idOf));
      for (const request of requests) expect(outer.has(parentOf(request) ?? "")).toBe(true);
    } finally {
      server.close();
      await ichido.close();
    }
  });

  it("a store that fails: the spans say what kind of error, and not its text", async () => {
    const store = Object.assign(memoryStore(), { claim: () => Promise.reject(new TypeError(`no ${key}`)) });
    const options = { ...engineOptions, onEvent: () => undefined, tracing: fromOpenTelemetry(api) };
    const ichido = createIchido({ store, ...options });
    const run = ichido.run({ operation: "job", scope: { principal: "p" }, key }, () => 1);
    await expect(run).rejects.toThrow("nothing was run");
    expect(only("idempotency.claim").attributes).toEqual({ "error.type": "internal-error" });
    expect(only("idempotency.claim").status).toEqual({ code: api.SpanStatusCode.ERROR });
    expect(only("idempotency.request").attributes["idempotency.outcome"]).toBe("store_error");
    await ichido.close();
  });

  it("without tracing the record has no line about it", async () => {
    const store = memoryStore();
    const ichido = createIchido({ store, ...engineOptions });
    let identity: Identity | undefined;
    await ichido.run({ operation: "job", scope: { principal: "p" }, key }, () => 1);
    for (const record of (await store.list({ limit: 10 })).records) ({ identity } = record);
    expect((await store.find(identity as Identity))?.response?.headers).toEqual([]);
    await ichido.close();
  });
});

describe("an event", () => {
  it("is published and consumed in the trace of the request that added it; a replayed run links", async () => {
    const tracing = fromOpenTelemetry(api);
    const database = new DatabaseSync(":memory:");
    const transactions = nodeSqliteTransactions(database);
    const store = sqliteStore(database);
    await store.migrate();
    const ichido = createIchido({ store, ...engineOptions, tracing, transactions });
    const topics = { "order.*": { to: "broker" } };
    const outbox = createOutbox({ transactions, source: "/shop", topics, trace: tracing.current });
    const inbox = createInbox({ transactions, retentionMs: 8 * 86_400_000 });
    await outbox.migrate();
    await inbox.migrate();
    const { publisher, subscription } = inProcess();
    const relay = createRelay(outbox, { routes: { broker: publisher }, tracing });
    const consumed = Promise.withResolvers<string | undefined>();
    const consumer = createConsumer({
      subscription,
      inbox,
      tracing,
      handlers: [
        {
          name: "mail",
          topics: ["order.*"],
          once: () => consumed.resolve(api.trace.getActiveSpan()?.spanContext().spanId),
        },
      ],
    });
    await consumer.start();
    await relay.start();
    const paid = { operation: "order.pay", scope: { principal: "p" }, key };
    const pay = () =>
      ichido.run(paid, (context) =>
        context.transaction(async (_tx, handle) => {
          await outbox.add(handle, { topic: "order.paid", payload: null });
          return { status: 200 };
        }),
      );
    await pay();
    outbox.wake();
    const active = await consumed.promise;
    await relay.stop();
    await consumer.stop();
    const request = only("idempotency.request");
    const [publish, process] = [only("outbox.publish"), only("inbox.process")];
    expect([publish, process].map(parentOf)).toEqual([idOf(request), idOf(request)]);
    expect([publish.kind, process.kind]).toEqual([api.SpanKind.PRODUCER, api.SpanKind.CONSUMER]);
    expect(publish.attributes).toMatchObject({ "messaging.destination.name": "order.paid", "outbox.outcome": "sent" });
    expect(process.attributes).toMatchObject({ "inbox.handler": "mail", "inbox.outcome": "processed" });
    expect(active).toBe(idOf(process));
    exporter.reset();
    await pay();
    expect(only("idempotency.request").links.map(({ context }) => context.spanId)).toEqual([idOf(request)]);
    await ichido.close();
    await publisher.close();
    database.close();
  });
});

it("a span processor that throws changes nothing of what a request comes to", async () => {
  const throwing = {
    ...api,
    trace: {
      getTracer: () => ({
        startSpan: () => ({
          spanContext: () => ({ traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 1 }),
          setAttribute: () => undefined,
          setStatus: () => undefined,
          end: () => {
            throw new Error("the exporter is broken");
          },
        }),
      }),
      setSpan: (context: api.Context) => context,
      setSpanContext: (context: api.Context) => context,
      getSpanContext: () => undefined,
    },
  };
  const tracing = fromOpenTelemetry(throwing as unknown as Parameters<typeof fromOpenTelemetry>[0]);
  const ichido = createIchido({ store: memoryStore(), ...engineOptions, tracing });
  let charges = 0;
  const job = { operation: "job", scope: { principal: "p" }, key };
  const pay = () => ichido.run(job, (context) => context.step("bank.charge", () => (charges += 1)));
  expect(await pay()).toMatchObject({ value: 1, replayed: false });
  expect(await pay()).toMatchObject({ value: 1, replayed: true });
  expect(charges).toBe(1);
  await ichido.close();
});
