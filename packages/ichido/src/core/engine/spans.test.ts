import { expect, it } from "vitest";
import { answer, bed, executionOf, type Bed } from "../../../../../test/support/engine-bed.ts";
import type { Span, SpanAttributes, Tracing } from "../contract/tracing.ts";

const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

interface Seen {
  readonly name: string;
  readonly of: string | undefined;
  readonly begun: SpanAttributes;
  ended?: SpanAttributes;
  error?: unknown;
  readonly links: string[];
}

/** Notes what becomes of each span, and which one is active. */
function tracingTo(seen: Seen[], active: string[]): Tracing {
  const spanOf = (name: string, begun: SpanAttributes = {}, of?: string): Span => {
    const noted: Seen = { name, of, begun, links: [] };
    seen.push(noted);
    return {
      traceparent: of === undefined ? traceparent : undefined,
      child: (child, attributes) => spanOf(child, attributes, name),
      within(work) {
        active.push(name);
        try {
          return work();
        } finally {
          active.pop();
        }
      },
      link: (to) => void noted.links.push(to),
      end(attributes = {}, failed) {
        if (noted.ended !== undefined) throw new Error(`${name} was ended twice`);
        noted.ended = attributes;
        noted.error = failed?.error;
      },
    };
  };
  return { begin: (name, { attributes }) => spanOf(name, attributes), current: () => undefined };
}

function traced(options = {}): Bed & { seen: Seen[]; active: string[] } {
  const seen: Seen[] = [];
  const active: string[] = [];
  return { ...bed({ tracing: tracingTo(seen, active), ...options }), seen, active };
}

const keyHash = expect.stringMatching(/^[0-9a-f]{8}$/) as string;

it("a request is a span with its claim and its completion beneath, in the words of the metrics", async () => {
  const { ask, seen } = traced();
  const execution = executionOf(await ask());
  await answer(execution);
  expect(seen).toEqual([
    {
      name: "idempotency.request",
      of: undefined,
      begun: { "idempotency.operation": "payment.create" },
      ended: {
        "idempotency.outcome": "executed",
        "idempotency.key_hash": keyHash,
        "http.response.status_code": 201,
        "idempotency.attempt": 1,
        "idempotency.fence": execution.context.fence,
      },
      error: undefined,
      links: [],
    },
    { name: "idempotency.claim", of: "idempotency.request", begun: {}, ended: {}, error: undefined, links: [] },
    { name: "idempotency.complete", of: "idempotency.request", begun: {}, ended: {}, error: undefined, links: [] },
  ]);
});

it("a replay names the span of the first run, also where that streamed, and no caller sees the line", async () => {
  for (const streams of [false, true]) {
    const { ask, seen } = traced();
    const first = executionOf(await ask());
    await (streams ? first.beginStream({ status: 201, headers: [] }) : answer(first));
    seen.length = 0;
    const again = await ask();
    expect(seen[0]).toMatchObject({
      links: [traceparent],
      ended: { "idempotency.outcome": streams ? "response_not_stored" : "replayed", "idempotency.key_hash": keyHash },
    });
    expect(JSON.stringify(again)).not.toContain("traceparent");
  }
});

it("a refusal before any claim ends its span without a key; a failure of the program with its error", async () => {
  const { ask, seen } = traced();
  await ask({ key: undefined });
  expect(seen).toMatchObject([
    {
      ended: {
        "idempotency.outcome": "key_missing",
        "idempotency.key_hash": undefined,
        "http.response.status_code": 400,
      },
    },
  ]);
  seen.length = 0;
  const error = new Error("no body");
  await expect(ask({ readBody: () => Promise.reject(error) })).rejects.toThrow(error);
  expect(seen).toMatchObject([{ name: "idempotency.request", ended: {}, error }]);
});

it("a step is a span, a claim that fails ends with its error", async () => {
  const { ask, store, seen, active } = traced();
  const { context } = executionOf(await ask());
  await context.step("bank.charge", () => {
    expect(active).toEqual(["idempotency.step"]);
  });
  expect(seen.find(({ name }) => name === "idempotency.step")).toMatchObject({
    begun: { "idempotency.step": "bank.charge" },
    ended: {},
  });
  seen.length = 0;
  store.break("claim", "fail");
  await ask({ key: "key-2" });
  expect(seen.find(({ name }) => name === "idempotency.claim")?.error).toMatchObject({ verb: "claim" });
  expect(seen[0]?.ended).toMatchObject({ "idempotency.outcome": "store_error", "http.response.status_code": 503 });
});

it("what run calls belongs to its span, which ends by how it ended", async () => {
  const { ichido, seen, active } = traced();
  const request = { operation: "mail.send", scope: { principal: "p" }, key: "k" };
  await ichido.run(request, () => {
    expect(active).toEqual(["idempotency.request"]);
  });
  await ichido.run(request, () => 2);
  await expect(ichido.run({ ...request, input: 1 }, () => 3)).rejects.toThrow();
  const requests = seen.filter(({ name }) => name === "idempotency.request");
  expect(requests.map(({ begun, ended, links }) => [begun, ended?.["idempotency.outcome"], links])).toEqual([
    [{ "idempotency.operation": "mail.send" }, "executed", []],
    [{ "idempotency.operation": "mail.send" }, "replayed", [traceparent]],
    [{ "idempotency.operation": "mail.send" }, "key_reused", []],
  ]);
});
