import { describe, expect, it } from "vitest";
import { answer, bed, executionOf, textOf } from "../../../../../test/support/engine-bed.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse } from "../../testing/store-suite/samples.ts";
import { IchidoError } from "../contract/errors.ts";
import type { IchidoEvent } from "../contract/events.ts";
import type { NeutralResponse } from "../contract/message.ts";
import type { OwnerToken } from "../contract/record.ts";
import type { StoredRecord } from "../contract/store.ts";
import { createOperationIds } from "../request/operation-id.ts";
import { createAnswers } from "./answers.ts";
import { createRefusals } from "./refusals.ts";
import type { Ask } from "./ruling.ts";
import { StoreFailure } from "./store-calls.ts";
import { resolveRoute } from "./validate-options.ts";

it("a late attempt is not answered by a record of other content that has its key now", async () => {
  const all = bed({ leaseMs: 1_000 });
  const late = executionOf(await all.ask());
  const find = all.store.find.bind(all.store);
  all.store.break("renew", "fail");
  await all.clock.advance(2_000);
  all.store.mend();
  await answer(executionOf(await all.ask()));
  // As after the retention: the same key, used anew for something else.
  all.store.find = async (identity) => {
    const record = await find(identity);
    const hash = new Uint8Array(32);
    return record && { ...record, fingerprint: { version: record.fingerprint.version, raw: hash, canonical: hash } };
  };
  const told = await answer(late);
  if (told.kind !== "replace") return expect.unreachable(told.kind);
  expect(told.response.status).toBe(422);
  expect(Buffer.from(told.response.body ?? []).toString()).toContain("idempotency-key-reused");
});

const identity = sampleIdentity("a", { principal: "p" });
const fingerprint = sampleFingerprint();
const record: StoredRecord = {
  identity,
  fingerprint,
  state: "completed",
  owner: "o" as OwnerToken,
  fence: 5,
  attempts: 1,
  stepsStarted: 0,
  labels: {},
  createdAtMs: 0,
  updatedAtMs: 0,
  expiresAtMs: 9,
};
const payment = { kind: "payment", id: "7" };

type Calls = Parameters<typeof createAnswers>[0]["calls"];

function setUp(given: Partial<Calls> = {}, routeOptions: object = {}) {
  const events: IchidoEvent[] = [];
  const refusals = createRefusals(
    { problemBase: "urn:x:", docsUrl: undefined, formatProblem: undefined },
    createOperationIds(),
  );
  const calls: Calls = { find: async () => undefined, resources: async () => [], ...given };
  const answers = createAnswers({ calls, refusals, emit: (event) => void events.push(event) });
  const route = resolveRoute({ onUnknown: "rerun" }, {
    operation: "op",
    leaseMs: 10_000,
    ...routeOptions,
  } as never) as Ask<never>["route"];
  return { answers, events, ask: { identity, fingerprint, route } };
}

async function shown(told: NeutralResponse | Promise<NeutralResponse>): Promise<Record<string, unknown>> {
  const response = await told;
  return { sent: response.status, ...(JSON.parse(textOf(response)) as object) };
}

describe("what a late attempt's caller is told of its record", () => {
  const told = (found: Partial<StoredRecord> | undefined, isUndone?: boolean, routeOptions: object = {}) => {
    const find = async () => (found === undefined ? undefined : { ...record, ...found });
    const { answers, ask } = setUp({ find }, routeOptions);
    return shown(answers.fromRecord(ask, isUndone));
  };
  const response = { ...sampleResponse(), status: 200, body: new TextEncoder().encode('{"id":9}') };

  it("its answer, once there is one", async () => {
    expect(await told({ response })).toEqual({ sent: 200, id: 9 });
  });

  it("that another attempt is at work, for as long as its lease", async () => {
    const atWork = { state: "processing", leaseLeftMs: 3_200 } as const;
    expect(await told(atWork)).toMatchObject({ sent: 409, code: "idempotency-in-flight", retryAfter: 4 });
    expect(await told({ ...atWork, response }), "only a completed record has an answer").toMatchObject({ sent: 409 });
  });

  it("to ask again where nobody is at work and the next attempt may run", async () => {
    for (const found of [undefined, { state: "failed" }, { state: "unknown", leaseLeftMs: 0 }] as const) {
      expect(await told(found)).toMatchObject({ sent: 409, code: "idempotency-in-flight", retryAfter: 1 });
    }
  });

  it("that nothing is left, where nothing is left of the late attempt nor of the other", async () => {
    for (const found of [undefined, { state: "failed" }] as const) {
      expect(await told(found, true)).toMatchObject({ sent: 503, code: "store-unavailable" });
    }
    expect(await told({ state: "unknown" }, true)).toMatchObject({ sent: 409, code: "idempotency-in-flight" });
  });

  it("that only a person ends it: by the route, by a hold, or by an interim answer", async () => {
    const open = { sent: 409, code: "outcome-unknown" };
    const lost = { state: "unknown", leaseLeftMs: 0 } as const;
    expect(await told(lost, false, { onUnknown: "hold" })).toMatchObject(open);
    expect(await told(undefined, false, { onUnknown: "hold" })).toMatchObject(open);
    expect(await told({ ...lost, holdReason: "ask" })).toMatchObject({
      ...open,
      detail: expect.stringContaining("on hold") as string,
    });
    expect(await told({ ...lost, interim: { ...response, status: 202 } })).toMatchObject(open);
  });

  it("that it cannot be asked", async () => {
    const find = () => Promise.reject(new StoreFailure("memory", "find", new Error("down")));
    const { answers, ask, events } = setUp({ find });
    expect(await shown(answers.fromRecord(ask))).toMatchObject({ sent: 503, code: "store-unavailable", retryAfter: 1 });
    expect(events).toEqual([]);
  });
});

describe("what an operation made", () => {
  const inFlight = { kind: "in-flight", leaseLeftMs: 9_000 } as const;

  it("is asked once for a crowd that is refused at one moment, and again for the next", async () => {
    let asked = 0;
    const { answers, ask } = setUp({
      resources: async () => {
        asked += 1;
        return [payment];
      },
    });
    const crowd = await Promise.all([1, 2, 3].map(() => shown(answers.toRuling(ask, inFlight))));
    expect(crowd.map(({ resources }) => resources)).toEqual([[payment], [payment], [payment]]);
    expect(asked).toBe(1);
    await answers.toRuling(ask, inFlight);
    expect(asked).toBe(2);
  });

  it("is left out where there is nothing, and where it cannot be asked", async () => {
    expect(await shown(setUp().answers.toRuling(setUp().ask, inFlight))).not.toHaveProperty("resources");
    const { answers, ask } = setUp({ resources: () => Promise.reject(new Error("down")) });
    expect(await shown(answers.toRuling(ask, inFlight))).not.toHaveProperty("resources");
  });

  it("is told with other content to the caller whose key it is, by tenant or by principal", async () => {
    const { answers, ask } = setUp({ resources: async () => [payment] });
    const told = async (scope: object, kind: "mismatch" | "not-visible-yet" = "mismatch") =>
      (await shown(answers.toRuling({ ...ask, identity: sampleIdentity("a", scope) }, { kind })))["resources"];
    expect(await told({ principal: "p" })).toEqual([payment]);
    expect(await told({ tenant: "t" })).toEqual([payment]);
    expect(await told({}), "a stranger, who shares all keys").toBeUndefined();
    expect(await told({}, "not-visible-yet"), "whoever sent the same content").toEqual([payment]);
  });
});

it("a stored answer that HTTP cannot send is refused", async () => {
  const { answers, ask } = setUp();
  const stored = { ...sampleResponse(), status: 99 };
  expect(await shown(answers.toRuling(ask, { kind: "replay", stored, waited: false }))).toMatchObject({ sent: 500 });
});

it("a full store and a spent quota tell when to ask again", async () => {
  const { answers, ask } = setUp();
  expect(await shown(answers.toRuling(ask, { kind: "full" }))).toMatchObject({
    sent: 503,
    code: "store-unavailable",
    detail: "The store is full and takes no new keys.",
    retryAfter: 1,
  });
  expect(await shown(answers.toRuling(ask, { kind: "quota" }))).toMatchObject({
    sent: 429,
    code: "quota-exceeded",
    detail: expect.stringContaining("as many keys in use as you may") as string,
    retryAfter: 60,
  });
});

it("an open step is on hold with a reason, and to be asked about again without one", async () => {
  const { answers, ask } = setUp();
  expect(await shown(answers.whileOpen(ask, "ask the bank"))).toMatchObject({
    code: "outcome-unknown",
    retryable: false,
    detail: expect.stringContaining("on hold") as string,
  });
  expect(await shown(answers.whileOpen(ask, undefined))).toMatchObject({ code: "outcome-unknown", retryable: true });
});

it("what no waiting mends is warned of once a code, unless a call of the store has told it", async () => {
  const { answers, events } = setUp();
  const defect = new TypeError("x is not a function");
  expect(await shown(answers.unavailable(defect))).toMatchObject({ sent: 500, code: "internal-error" });
  answers.unavailable(defect);
  answers.unavailable(new StoreFailure("memory", "find", new IchidoError("schema-missing", "no tables")));
  expect(await shown(answers.unavailable())).toMatchObject({ sent: 503, code: "store-unavailable", retryAfter: 1 });
  answers.unavailable(new Error("gone"));
  expect(events).toEqual([{ type: "warning", code: "internal-error", message: "x is not a function", error: defect }]);
  answers.unavailable(new IchidoError("schema-missing", "no tables"));
  expect(events.map((event) => event.type === "warning" && event.code)).toEqual(["internal-error", "schema-missing"]);
});
