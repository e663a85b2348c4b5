import {
  createNoopMeter,
  metrics as openTelemetry,
  type Attributes,
  type Meter,
  type ObservableCallback,
} from "@opentelemetry/api";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { createIchido, type IchidoEvent, type IchidoListener, type StoreStats } from "../index.ts";
import { idempotent } from "../adapters/node.ts";
import { memoryStore } from "../stores/memory/index.ts";
import { fakeClock } from "../testing/clock.ts";
import {
  createMetrics,
  families,
  metricsDefaults,
  prometheusName,
  type FamilyName,
  type MeterLike,
  type ObserveLike,
} from "./index.ts";

const sizes: StoreStats = {
  records: 9,
  processing: 3,
  completed: 5,
  failed: 0,
  unknown: 1,
  bodyBytes: 77,
  sweepLagMs: 1_500,
  oldestUnknownMs: 2_500,
};

function source(stats: () => Promise<StoreStats> = async () => sizes) {
  const listeners = new Set<IchidoListener>();
  let asked = 0;
  const store = Object.assign(memoryStore(), {
    stats: () => {
      asked += 1;
      return stats();
    },
  });
  return {
    store,
    on(listener: IchidoListener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    emit: (event: IchidoEvent) => listeners.forEach((listener) => listener(event)),
    asked: () => asked,
  };
}

const request = (operation: string, durationMs = 3): IchidoEvent => ({
  type: "request",
  operation,
  outcome: "replayed",
  observed: false,
  status: 201,
  durationMs,
  keyHash: "deadbeef",
});

describe("metrics", () => {
  it("counts requests in cumulated buckets with their sum, by operation, outcome and status class", async () => {
    const ichido = source();
    const metrics = createMetrics(ichido);
    for (const durationMs of [3, 3, 700, 90_000]) ichido.emit(request("payment.create", durationMs));
    const text = await metrics.text();
    const labels = 'operation="payment.create",outcome="replayed",status_class="2xx",observed="false"';
    const name = "idempotency_request_duration_seconds";
    expect(text).toContain(`# TYPE ${name} histogram\n`);
    expect(text).toContain(`${name}_bucket{${labels},le="0.0025"} 0\n`);
    expect(text).toContain(`${name}_bucket{${labels},le="0.005"} 2\n`);
    expect(text).toContain(`${name}_bucket{${labels},le="0.5"} 2\n`);
    expect(text).toContain(`${name}_bucket{${labels},le="1"} 3\n`);
    expect(text).toContain(`${name}_bucket{${labels},le="60"} 3\n`);
    expect(text).toContain(`${name}_bucket{${labels},le="+Inf"} 4\n`);
    expect(text).toContain(`${name}_count{${labels}} 4\n`);
    expect(Number(/_sum\{[^}]*\} (\S+)/.exec(text)?.[1])).toBeCloseTo(90.706);
  });

  it("counts every other event, and nothing of them but words from bounded sets", async () => {
    const ichido = source();
    const metrics = createMetrics(ichido);
    const keyHash = "deadbeef";
    ichido.emit({ type: "takeover", operation: "a", keyHash, attempt: 2 });
    ichido.emit({ type: "lease-lost", operation: "a", keyHash, reason: "stale" });
    ichido.emit({ type: "fence-rejected", operation: "a", keyHash, verb: "complete" });
    ichido.emit({ type: "not-stored", operation: "a", keyHash, error: new Error("secret") });
    ichido.emit({ type: "store-call", store: "memory", verb: "claim", durationMs: 1 });
    ichido.emit({ type: "store-call", store: "memory", verb: "claim", durationMs: 1, error: new TypeError("secret") });
    ichido.emit({ type: "reconciled", operation: "a", keyHash, outcome: "adopted" });
    ichido.emit({ type: "sweep", deleted: 7, guarded: false });
    ichido.emit({ type: "warning", code: "short-retention", message: "secret" });
    const text = await metrics.text();
    for (const line of [
      'idempotency_lease_takeover_total{operation="a"} 1',
      'idempotency_lease_lost_total{operation="a",reason="stale"} 1',
      'idempotency_fence_rejected_total{operation="a",verb="complete"} 1',
      'idempotency_response_not_stored_total{operation="a"} 1',
      'idempotency_store_operation_duration_seconds_count{store="memory",verb="claim",error_type=""} 1',
      'idempotency_store_operation_duration_seconds_count{store="memory",verb="claim",error_type="TypeError"} 1',
      'idempotency_reconcile_finding_total{operation="a",outcome="adopted"} 1',
      "idempotency_purge_deleted_total 7",
      'idempotency_warning_total{code="short-retention"} 1',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
    expect(text).not.toMatch(/secret|deadbeef/);
  });

  it("shows the store's sizes in seconds and bytes, asked for once in a while", async () => {
    const clock = fakeClock();
    const ichido = source();
    const metrics = createMetrics(ichido, { environment: clock.environment, statsMs: 5_000 });
    const [text] = await Promise.all([metrics.text(), metrics.text()]);
    for (const line of [
      "idempotency_store_up 1",
      "idempotency_record_active 3",
      "idempotency_record_unknown 1",
      "idempotency_record_oldest_unknown_seconds 2.5",
      'idempotency_store_record_count{state="completed"} 5',
      'idempotency_store_record_count{state="unknown"} 1',
      "idempotency_store_record_size_bytes 77",
      "idempotency_purge_lag_seconds 1.5",
    ]) {
      expect(text).toContain(`${line}\n`);
    }
    await metrics.text();
    expect(ichido.asked()).toBe(1);
    await clock.advance(5_001);
    await metrics.text();
    expect(ichido.asked()).toBe(2);
  });

  it("tells that the store is down, refused or silent, instead of failing or showing old sizes", async () => {
    const clock = fakeClock();
    const refusing = createMetrics(
      source(() => Promise.reject(new Error("down"))),
      { environment: clock.environment },
    );
    expect(await refusing.text()).toContain("idempotency_store_up 0\n");
    const silent = createMetrics(
      source(() => new Promise(() => undefined)),
      { environment: clock.environment, scanTimeoutMs: 100 },
    );
    const text = silent.text();
    await clock.advance(101);
    expect(await text).toContain("idempotency_store_up 0\n");
    expect(await text).not.toContain("idempotency_record_active");
  });

  it("bounds operations and series; what is beyond is counted together", async () => {
    const ichido = source();
    const metrics = createMetrics(ichido, { operationsMax: 3 });
    for (let number = 0; number < 1_000; number += 1) ichido.emit(request(`operation-${number}`));
    const text = await metrics.text();
    expect(text.match(/_duration_seconds_count\{/g)).toHaveLength(4);
    expect(text).toMatch(/_count\{operation="other",[^}]*\} 997\n/);

    const narrow = createMetrics(ichido, { seriesMax: 2 });
    for (let number = 0; number < 100; number += 1) ichido.emit(request(`operation-${number}`));
    expect((await narrow.text()).match(/_duration_seconds_count\{/g)).toHaveLength(3);
  });

  it("cannot be broken out of by a name", async () => {
    const ichido = source();
    const metrics = createMetrics(ichido);
    ichido.emit(request('a"} 1\nevil{x="\\'));
    const text = await metrics.text();
    expect(text).toContain(String.raw`operation="a\"} 1\nevil{x=\"\\"`);
    expect(text).not.toMatch(/^evil/m);
  });

  it("stops when closed", async () => {
    const ichido = source();
    const metrics = createMetrics(ichido);
    ichido.emit(request("a"));
    metrics.close();
    ichido.emit(request("a"));
    expect(await metrics.text()).toMatch(/_count\{operation="a"[^}]*\} 1\n/);
  });

  it("refuses options that make no sense", () => {
    expect(() => createMetrics(source(), { operationsMax: 0 })).toThrow(/option operationsMax/);
  });

  it("spells Prometheus names with unit and kind", () => {
    expect(prometheusName("idempotency.request.duration")).toBe("idempotency_request_duration_seconds");
    expect(prometheusName("idempotency.lease.lost")).toBe("idempotency_lease_lost_total");
    for (const name of Object.keys(families) as FamilyName[]) expect(prometheusName(name)).toMatch(/^[a-z][a-z_]+$/);
  });
});

describe("docs/reference/metrics.md", () => {
  it("lists every metric with kind, unit and attributes, and every option with its default", () => {
    const page = readFileSync(new URL("../../../../docs/reference/metrics.md", import.meta.url), "utf8");
    const rows = [
      ...page.matchAll(/^\| `((?:idempotency|outbox|inbox)\.[^`]+)` \| ([^|]+) \|([^|]*)\|([^|]*)\|/gm),
    ].map((row) => row.slice(1).map((cell) => cell.trim()));
    const expected = Object.entries(families).map(([name, { kind, unit, attributes }]) => [
      name,
      kind,
      unit,
      attributes.join(", "),
    ]);
    expect(rows).toEqual(expected);
    for (const [name, value] of Object.entries(metricsDefaults)) expect(page).toContain(`| \`${name}\` | ${value} |`);
  });
});

type Value = readonly [value: number, attributes: Attributes];

/** A provider as a program has one from an SDK: what it is told by the API's own calls can be looked at. */
function provider() {
  const told: (readonly [name: string, ...value: Value])[] = [];
  const gauges = new Map<string, Set<ObservableCallback>>();
  const noting =
    (name: string) =>
    (value: number, attributes: Attributes = {}) =>
      void told.push([name, value, attributes]);
  const meter: Meter = Object.assign(createNoopMeter(), {
    createCounter: (name: string) => ({ add: noting(name) }),
    createHistogram: (name: string) => ({ record: noting(name) }),
    createObservableGauge(name: string) {
      const callbacks = new Set<ObservableCallback>();
      gauges.set(name, callbacks);
      return {
        addCallback: (callback: ObservableCallback) => void callbacks.add(callback),
        removeCallback: (callback: ObservableCallback) => void callbacks.delete(callback),
      };
    },
  });
  return {
    getMeter: () => meter,
    values: (name: string): Value[] =>
      told.filter(([each]) => each === name).map(([, value, attributes]) => [value, attributes]),
    async collect(name: string): Promise<Value[]> {
      const observed: Value[] = [];
      const observe = (value: number, attributes: Attributes = {}): void => void observed.push([value, attributes]);
      for (const callback of gauges.get(name) ?? []) await callback({ observe });
      return observed;
    },
  };
}

describe("OpenTelemetry", () => {
  it("counts what an engine did through the provider that a program registers", async () => {
    const provided = provider();
    openTelemetry.setGlobalMeterProvider(provided);
    const ichido = createIchido({ store: memoryStore(), scope: () => ({ principal: "p" }), onUnknown: "rerun" });
    try {
      const stop = createMetrics(ichido, { statsMs: 1 }).observeWith(openTelemetry.getMeter("ichido"));
      const paid = { operation: "payment.create", scope: { principal: "p" }, key: "k" };
      await ichido.run(paid, () => 1);
      await ichido.run(paid, () => 1);
      const asked = provided.values("idempotency.store.operation.duration");
      expect(asked.filter(([, attributes]) => attributes["idempotency.verb"] === "claim")).toHaveLength(2);
      expect(provided.values("idempotency.request.duration")).toEqual([
        [expect.any(Number), expect.objectContaining({ "idempotency.outcome": "executed" })],
        [expect.any(Number), expect.objectContaining({ "idempotency.outcome": "replayed" })],
      ]);
      const counted = await provided.collect("idempotency.store.record.count");
      expect(counted).toContainEqual([1, { "idempotency.state": "completed" }]);
      stop();
      await ichido.run({ ...paid, key: "another" }, () => 1);
      expect(provided.values("idempotency.request.duration")).toHaveLength(2);
      expect(await provided.collect("idempotency.store.record.count")).toEqual([]);
    } finally {
      openTelemetry.disable();
      await ichido.close();
    }
  });

  it("gets the same numbers under their own names, until it is stopped", async () => {
    const seen: unknown[] = [];
    const callbacks = new Map<string, ObserveLike>();
    const meter: MeterLike = {
      createCounter: (name) => ({ add: (value, attributes) => seen.push([name, value, attributes]) }),
      createHistogram: (name) => ({ record: (value, attributes) => seen.push([name, value, attributes]) }),
      createObservableGauge: (name) => ({
        addCallback: (callback) => void callbacks.set(name, callback),
        removeCallback: () => void callbacks.delete(name),
      }),
    };
    const ichido = source();
    const stop = createMetrics(ichido).observeWith(meter);
    ichido.emit(request("payment.create", 250));
    ichido.emit({ type: "store-call", store: "memory", verb: "claim", durationMs: 1 });
    expect(seen).toEqual([
      [
        "idempotency.request.duration",
        0.25,
        {
          "idempotency.operation": "payment.create",
          "idempotency.outcome": "replayed",
          "idempotency.status_class": "2xx",
          "idempotency.observed": "false",
        },
      ],
      ["idempotency.store.operation.duration", 0.001, { "idempotency.store": "memory", "idempotency.verb": "claim" }],
    ]);
    const observed: unknown[] = [];
    const observe = (value: number, attributes?: object): void => void observed.push([value, attributes]);
    await callbacks.get("idempotency.store.record.count")?.({ observe });
    expect(observed).toContainEqual([5, { "idempotency.state": "completed" }]);
    stop();
    ichido.emit(request("payment.create"));
    expect([seen.length, callbacks.size]).toEqual([2, 0]);
  });
});

describe("over HTTP", () => {
  it("shows what a server did; the key is nowhere in it", async () => {
    const ichido = createIchido<http.IncomingMessage>({
      store: memoryStore(),
      scope: () => ({ principal: "somebody" }),
      onUnknown: "rerun",
    });
    const metrics = createMetrics(ichido, { statsMs: 1 });
    const pay = idempotent(ichido, { operation: "payment.create" }, (_request, response) =>
      response.writeHead(201).end("paid"),
    );
    const server = http.createServer((incoming, response) => {
      void (incoming.url === "/metrics" ? metrics.handler(incoming, response) : pay(incoming, response));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const key = "0f9619ff-8b86-4d01-b42d-00cf4fc964ff";
    try {
      for (let round = 0; round < 3; round += 1) {
        await fetch(url, { method: "POST", headers: { "idempotency-key": key }, body: "{}" });
      }
      await fetch(url, { method: "POST", body: "{}" });
      const answer = await fetch(`${url}/metrics`);
      const text = await answer.text();
      expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
      const count = (outcome: string): number =>
        Number(new RegExp(`_count\\{operation="payment.create",outcome="${outcome}",[^}]*\\} (\\d+)`).exec(text)?.[1]);
      expect([count("executed"), count("replayed"), count("key_missing")]).toEqual([1, 2, 1]);
      expect(text).toContain('idempotency_store_record_count{state="completed"} 1\n');
      expect(text).not.toContain(key);
      expect(text).not.toContain("somebody");
      const line = /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+)$/;
      for (const each of text.trimEnd().split("\n")) expect(each).toMatch(line);
      expect((await fetch(`${url}/metrics`, { method: "POST" })).status).toBe(405);
      expect((await metrics.fetch(new Request(`${url}/metrics`, { method: "POST" }))).status).toBe(405);
      expect(await (await metrics.fetch(new Request(`${url}/metrics`))).text()).toContain("idempotency_store_up 1");
    } finally {
      server.close();
      server.closeAllConnections();
      await ichido.close();
    }
  });
});
