import { describe, expect, it } from "vitest";
import { readPolicy } from "../client/policy.ts";
import { createIchido, profiles, type Ichido, type IchidoOptions } from "../index.ts";
import { memoryStore } from "../stores/memory/index.ts";
import { isoDuration, mergeOpenApi, openApiFragment, policyOf, type PublishedRoute } from "./index.ts";

function engine(options: Partial<IchidoOptions<unknown>> = {}): Ichido {
  return createIchido({
    store: memoryStore(),
    scope: () => ({}),
    onUnknown: "rerun",
    ...options,
  } as IchidoOptions<unknown>);
}

const pay: PublishedRoute<unknown> = { method: "post", path: "/payments", options: { operation: "payment.create" } };
const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("T-05 the published policy", () => {
  it("states header, operations, key, scope, comparison, retention, stored statuses, marker and errors", () => {
    const policy = policyOf(engine({ docsUrl: "https://docs.example/keys" }), [
      pay,
      { method: "PATCH", path: "/orders/:id/lines/:line", options: { operation: "order.change", required: false } },
    ]);
    expect(policy).toMatchObject({
      version: 1,
      header: "Idempotency-Key",
      key: { form: "lenient", format: "any", length: { min: 1, max: 255 }, compared: "exact" },
      scope: ["tenant", "principal", "operation", "key"],
      retention: { duration: "P1D", anchor: "first-request", extendedByReplays: false, afterwards: "runs-as-new" },
      storedStatuses: {
        stored: ["2xx", "3xx", "4xx"],
        notStored: ["401", "403", "408", "412", "413", "415", "425", "428", "429", "5xx"],
        createdReplayedAs: 201,
      },
      marker: { header: "Idempotency-Replayed", value: "true" },
      documentation: "https://docs.example/keys",
      operations: [
        { operation: "payment.create", method: "POST", path: "/payments", required: true, profile: "ietf" },
        { operation: "order.change", method: "PATCH", path: "/orders/{id}/lines/{line}", required: false },
      ],
    });
    expect(policy.errors).toContainEqual({
      code: "idempotency-key-reused",
      type: "urn:ichido:problem:idempotency-key-reused",
      status: 422,
      retryable: false,
      title: expect.any(String),
    });
    const [, change] = policy.operations;
    expect(change?.errors.map(({ code }) => code)).not.toContain("idempotency-key-required");
  });

  it("follows every profile and every option of the route", () => {
    const of = (options: Omit<PublishedRoute<unknown>["options"], "operation">) =>
      policyOf(engine({ problemBase: "https://errors.example/" }), [
        { method: "POST", path: "/x", options: { operation: "x", ...options } },
      ]).operations[0];
    expect(of({ profile: "adr-007" })).toMatchObject({
      key: { format: "uuid-v4", length: { min: 36, max: 36 }, compared: "lower-case" },
      storedStatuses: { createdReplayedAs: 200 },
    });
    expect(of({ profile: "stripe" })).toMatchObject({
      key: { form: "bare" },
      scope: ["tenant", "principal", "key"],
      marker: { header: "Idempotent-Replayed" },
      storedStatuses: { stored: ["2xx", "3xx", "4xx", "5xx"] },
    });
    const polling = { profile: "polling", statusUrl: (id: string) => `/operations/${id}` } as const;
    expect(of(polling)?.inFlight).toBe("accepted");
    expect(of(polling)?.errors.map(({ code }) => code)).not.toContain("idempotency-in-flight");
    expect(of({ inFlight: { waitMs: 1_500 } })?.inFlight).toEqual({ waits: "PT1.5S" });
    expect(of({ fingerprint: { fields: ["amount"] } })?.compared).toMatchObject({ fields: ["amount"] });
    expect(of({ fingerprint: { compare: "bytes" } })?.compared.content).toBe("bytes");
    expect(of({ keep: ({ status }) => status === 201 })?.storedStatuses).toMatchObject({
      stored: ["201"],
      notStored: ["2xx", "3xx", "4xx", "5xx"],
    });
    expect(of({})?.errors[0]?.type).toBe("https://errors.example/idempotency-key-required");
    expect(of({ profile: "adr-007" })?.errors.find(({ code }) => code === "idempotency-key-reused")?.status).toBe(409);
  });

  it("says what suits every operation where they differ", () => {
    const policy = policyOf(engine(), [
      pay,
      { method: "POST", path: "/b", options: { operation: "b", retentionMs: 172_800_000, profile: "adr-007" } },
      {
        method: "POST",
        path: "/c",
        options: { operation: "c", retentionMs: 90_000_000, profile: { ...profiles.ietf, keyForm: "strict" } },
      },
    ]);
    expect(policy.retention.duration).toBe("P1D");
    expect(policy.key).toMatchObject({ form: "strict", format: "uuid-v4" });
    expect(policy.errors.filter(({ code }) => code === "idempotency-key-reused").map(({ status }) => status)).toEqual([
      422, 409,
    ]);
  });

  it("is true of every operation, in whatever order they are listed", () => {
    const ietf = { method: "POST", path: "/a", options: { operation: "a" } };
    const stripe = { method: "POST", path: "/b", options: { operation: "b", profile: "stripe" } } as const;
    const adr = { method: "POST", path: "/c", options: { operation: "c", profile: "adr-007" } } as const;
    for (const routes of [
      [ietf, stripe, adr],
      [adr, stripe, ietf],
      [stripe, ietf, adr],
    ]) {
      const { operations, errors, ...upper } = policyOf(engine(), routes);
      expect(upper.header).toBe("Idempotency-Key");
      // Told apart by operation here, by the key alone there; and marked by two headers.
      expect(Object.keys(upper)).not.toContain("scope");
      expect(Object.keys(upper)).not.toContain("marker");
      expect(upper.key).toMatchObject({ form: "bare", format: "uuid-v4", compared: "lower-case" });
      expect(upper.storedStatuses).toEqual({
        stored: ["2xx", "3xx", "4xx"],
        notStored: expect.arrayContaining(["401", "5xx"]) as string[],
      });
      expect(operations.map(({ marker }) => marker.header)).toContain("Idempotent-Replayed");
      expect(errors.length).toBeGreaterThan(0);
    }
    const mixed = policyOf(engine(), [stripe, ietf]);
    expect(mixed.key).toMatchObject({
      form: "bare",
      format: "any",
      alphabet: expect.stringMatching(/^letters/) as string,
    });
    const strict = { ...pay, options: { operation: "x", profile: { ...profiles.ietf, keyForm: "strict" as const } } };
    expect(policyOf(engine(), [strict, stripe]).key.form).toBeUndefined();
    const other = { ...pay, options: { operation: "y", profile: { ...profiles.ietf, header: "x-key" } } };
    expect(policyOf(engine(), [pay, other]).header).toBeUndefined();
  });

  it("names the parts of the scope as callers know them, and none where keys are shared", () => {
    expect(policyOf(engine(), [pay], { scope: ["account"] }).scope).toEqual(["account", "operation", "key"]);
    const shared = createIchido({ store: memoryStore(), dangerouslyShareKeys: true, onUnknown: "rerun" });
    expect(policyOf(shared, [pay]).scope).toEqual(["operation", "key"]);
    const own = { ...pay, options: { ...pay.options, scope: () => ({ principal: "guest" }) } };
    expect(policyOf(shared, [own]).scope).toEqual(["tenant", "principal", "operation", "key"]);
  });

  it("refuses to publish what is not protected", () => {
    expect(() => policyOf(engine(), [{ ...pay, method: "GET" }])).toThrow(
      /published for GET, but protects POST, PATCH/,
    );
    expect(() => policyOf(engine(), [])).toThrow(/no route/);
  });

  it("is what the client reads", () => {
    const strict = { ...profiles.ietf, keyForm: "strict" as const, header: "x-request-key" };
    const routes = [{ ...pay, options: { operation: "pay", profile: strict, retentionMs: 100_000_000 } }];
    expect(readPolicy(throughJson(policyOf(engine(), routes)))).toEqual({
      header: "X-Request-Key",
      retentionMs: 100_000_000,
      quoted: true,
      operations: [{ method: "POST", path: "/payments", required: true }],
    });
    expect(readPolicy(throughJson(policyOf(engine(), [pay])))).toMatchObject({
      header: "Idempotency-Key",
      retentionMs: 86_400_000,
      quoted: false,
    });
  });

  it.each([86_400_000, 5_400_000, 2_500, 100, 90_061_001, 604_800_000])(
    "writes %i ms so that the client reads the same",
    (ms) => {
      expect(readPolicy({ retention: { duration: isoDuration(ms) } }).retentionMs).toBeCloseTo(ms);
    },
  );
});

describe("durations", () => {
  it.each([
    [86_400_000, "P1D"],
    [30_000, "PT30S"],
    [5_400_000, "PT1H30M"],
    [90_061_500, "P1DT1H1M1.5S"],
    [400, "PT0.4S"],
    [0, "PT0S"],
  ])("writes %i ms as %s", (milliseconds, text) => {
    expect(isoDuration(milliseconds)).toBe(text);
  });
});

describe("the OpenAPI fragment", () => {
  it("has the header, the marker, Retry-After and the problems of the operation", () => {
    const { paths, components } = openApiFragment(engine(), [pay]);
    const operation = paths["/payments"]?.["post"];
    expect(operation?.parameters).toMatchObject([{ name: "Idempotency-Key", in: "header", required: true }]);
    expect(Object.keys(operation?.responses ?? {}).toSorted()).toEqual(
      ["2XX", "400", "409", "413", "422", "429", "503"].toSorted(),
    );
    expect(operation?.responses["409"]?.headers).toHaveProperty("Retry-After");
    expect(operation?.responses["422"]?.headers).toBeUndefined();
    expect(operation?.responses["2XX"]?.headers).toHaveProperty("Idempotency-Replayed");
    expect(operation?.["x-idempotency"]).toMatchObject({ required: true, retention: "P1D", profile: "ietf" });
    const references = JSON.stringify(paths).match(/#\/components\/\w+\/\w+/g) ?? [];
    for (const reference of new Set(references)) {
      const [, , kind, name] = reference.split("/") as [string, string, "headers" | "schemas", string];
      expect(components[kind], reference).toHaveProperty(name);
    }
  });

  it("describes a header value that the adapter accepts", () => {
    const schemaOf = (profile: "adr-007" | "ietf") =>
      openApiFragment(engine(), [{ ...pay, options: { operation: "pay", profile } }]).paths["/payments"]?.["post"]
        ?.parameters[0]?.["schema"] as { pattern?: string; maxLength?: number };
    const pattern = new RegExp(schemaOf("adr-007").pattern ?? "");
    expect(pattern.test("0f9619ff-8b86-4d01-b42d-00cf4fc964ff")).toBe(true);
    expect(pattern.test('"0F9619FF-8B86-4D01-B42D-00CF4FC964FF"')).toBe(true);
    expect(pattern.test("0f9619ff-8b86-1d01-b42d-00cf4fc964ff")).toBe(false);
    expect(schemaOf("ietf").maxLength).toBe(257);
  });

  it("is put into a document without changing what it says", () => {
    const own = {
      openapi: "3.1.0",
      info: { title: "mine", version: "1" },
      paths: {
        "/payments": {
          get: { responses: {} },
          post: {
            operationId: "pay",
            parameters: [{ name: "idempotency-key", in: "header", description: "mine" }],
            responses: {
              "201": { description: "paid", content: { "application/json": {} } },
              "400": { description: "bad" },
            },
          },
        },
      },
      components: { schemas: { Mine: {} } },
    };
    const before = structuredClone(own);
    const fragment = openApiFragment(engine(), [{ ...pay, options: { operation: "pay", profile: "adr-007" } }]);
    const merged = mergeOpenApi<object>(own, fragment);
    expect(own).toEqual(before);
    expect(merged).toMatchObject({
      info: own.info,
      paths: {
        "/payments": {
          get: { responses: {} },
          post: {
            operationId: "pay",
            parameters: own.paths["/payments"].post.parameters,
            responses: {
              "200": { headers: { "Idempotency-Replayed": {} }, content: { "application/json": {} } },
              "201": { description: "paid", headers: { "Idempotency-Replayed": {} } },
              "400": { description: "bad", content: { "application/problem+json": {} } },
              "409": {},
            },
          },
        },
      },
      components: { schemas: { Mine: {}, IdempotencyProblem: {} } },
    });
    expect(JSON.stringify(merged)).not.toContain("2XX");
  });
});
