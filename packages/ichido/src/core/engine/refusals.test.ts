import { describe, expect, it } from "vitest";
import { profiles } from "../contract/profiles.ts";
import { createOperationIds } from "../request/operation-id.ts";
import { sampleIdentity, sampleResponse } from "../../testing/store-suite/samples.ts";
import { textOf } from "../../../../../test/support/engine-bed.ts";
import { createRefusals } from "./refusals.ts";
import { resolveRoute } from "./validate-options.ts";

const refusals = createRefusals(
  { problemBase: "urn:x:", docsUrl: undefined, formatProblem: undefined },
  createOperationIds(),
);
const identity = sampleIdentity("a", { principal: "p" });
const made = { resources: [{ kind: "payment", id: "7" }] };
const statusUrl = (id: string): string => `/operations/${id}`;

function routeOf(options: object = {}): Parameters<typeof refusals.reused>[0] {
  return resolveRoute({ onUnknown: "rerun" }, { operation: "op", leaseMs: 10_000, ...options } as never) as never;
}

function shown(response: ReturnType<typeof refusals.refuse>): Record<string, unknown> {
  return {
    sent: response.status,
    after: response.headers.find(([name]) => name === "retry-after")?.[1],
    ...(JSON.parse(textOf(response)) as object),
  };
}

const polling = routeOf({ profile: "polling", statusUrl });

describe("the layer's own answers", () => {
  it("other content", () => {
    expect(shown(refusals.reused(routeOf(), made))).toEqual({
      sent: 422,
      after: undefined,
      type: "urn:x:idempotency-key-reused",
      title: "The idempotency key was used before with other content",
      status: 422,
      code: "idempotency-key-reused",
      retryable: false,
      detail: "Send the original content again to get its answer, or use a new key for new content.",
      ...made,
    });
    expect(refusals.reused(routeOf({ profile: "stripe" }), {}).status).toBe(400);
  });

  it.each([
    [10_000, 1],
    [5_000, 1],
    [4_999, 5],
    [4_001, 5],
    [4_000, 4],
    [300, 1],
    [0, 1],
  ])("in flight with %i ms of the lease left: ask again after %i s", (leftMs, seconds) => {
    expect(shown(refusals.inFlight(routeOf(), identity, leftMs, made))).toMatchObject({
      sent: 409,
      after: String(seconds),
      retryAfter: seconds,
      code: "idempotency-in-flight",
      retryable: true,
      detail: "Wait and send the same request again: it will get the answer of the one that is running.",
      ...made,
    });
    const accepted = refusals.inFlight(polling, identity, leftMs, made);
    const operationId = createOperationIds().of(identity);
    expect(accepted.headers).toEqual([
      ["content-type", "application/json"],
      ["cache-control", "no-store"],
      ["retry-after", String(seconds)],
      ["location", `/operations/${operationId}`],
    ]);
    expect(shown(accepted)).toEqual({ sent: 202, after: String(seconds), operationId, state: "processing" });
  });

  it("a 202 without an address has no location", () => {
    const { headers } = refusals.inFlight({ ...polling, statusUrl: undefined }, identity, 0, {});
    expect(headers.map(([name]) => name)).toEqual(["content-type", "cache-control", "retry-after"]);
  });

  it("left running", () => {
    expect(shown(refusals.leftRunning())).toMatchObject({
      sent: 503,
      after: "1",
      status: 503,
      code: "idempotency-in-flight",
      detail:
        "It was answered, or its time was up, while its transaction still ran: nothing of it is kept. Send the same request again.",
    });
  });

  it("unknown, on hold or not", () => {
    const open = shown(refusals.unknown(routeOf(), identity, {}, made));
    expect(open).toMatchObject({
      sent: 409,
      after: undefined,
      code: "outcome-unknown",
      retryable: false,
      detail: "An earlier attempt ended without telling its outcome. It is not run again until that is settled.",
      ...made,
    });
    expect(shown(refusals.unknown(routeOf(), identity, { holdReason: "" }, {}))["detail"]).toBe(
      "An earlier attempt is on hold until a person settles its outcome. It is not run again meanwhile.",
    );
    expect(shown(refusals.unknown(polling, identity, {}, made))).toMatchObject({
      sent: 202,
      after: "1",
      state: "unknown",
    });
  });

  it("an interim answer is given where the profile has it, unless it lost its body or cannot be sent", () => {
    const interim = sampleResponse({
      status: 202,
      body: "soon",
      headers: [
        ["date", "now"],
        ["x-a", "1"],
      ],
    });
    expect(refusals.unknown(polling, identity, { interim }, made)).toEqual({
      status: 202,
      headers: [["x-a", "1"]],
      body: interim.body,
    });
    expect(shown(refusals.unknown(routeOf(), identity, { interim }, made))).toMatchObject({ code: "outcome-unknown" });
    const tombstone = { ...interim, kind: "tombstone" } as const;
    expect(shown(refusals.unknown(polling, identity, { interim: tombstone }, {}))).toMatchObject({ state: "unknown" });
    const broken = { ...interim, status: 99 };
    expect(shown(refusals.unknown(polling, identity, { interim: broken }, {}))).toMatchObject({
      sent: 500,
      code: "value-not-serialisable",
      detail: "The stored answer (status 99) cannot be sent over HTTP.",
    });
  });

  it("an answer that cannot be sent is named by the first characters of its status", () => {
    const stored = sampleResponse({ status: "9".repeat(30) as never });
    expect(shown(refusals.unsendable(stored))["detail"]).toBe(
      `The stored answer (status ${"9".repeat(20)}) cannot be sent over HTTP.`,
    );
  });

  it("not visible yet", () => {
    expect(shown(refusals.notVisibleYet(routeOf(), identity, made))).toMatchObject({
      sent: 409,
      after: "1",
      retryable: true,
      code: "outcome-unknown",
      detail: "An earlier attempt may have taken effect; that cannot be told yet. Ask again with the same request.",
      ...made,
    });
    expect(shown(refusals.notVisibleYet(polling, identity, made))).toMatchObject({ sent: 202, state: "unknown" });
  });

  it("not stored", () => {
    const stored = sampleResponse({ kind: "tombstone", status: 201, headers: [["location", "/p/1"]], body: "" });
    expect(shown(refusals.notStored(stored, made))).toMatchObject({
      sent: 409,
      code: "response-not-stored",
      originalStatus: 201,
      location: "/p/1",
      detail: "The operation took effect and is not run again. Its answer was streamed or too large to be kept.",
      ...made,
    });
    expect(shown(refusals.notStored({ ...stored, headers: [] }, {}))).not.toHaveProperty("location");
  });
});

it("every profile has its own status for other content", () => {
  const statuses = Object.keys(profiles).map((profile) => refusals.reused(routeOf({ profile, statusUrl }), {}).status);
  expect(statuses).toEqual([422, 400, 409, 409]);
});
