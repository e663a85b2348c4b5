import { describe, expect, it } from "vitest";
import { createIchido } from "../engine/create-ichido.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import { errorType } from "./error-type.ts";
import { IchidoError } from "./errors.ts";
import { isTraceparent, type Span, type Tracing } from "./tracing.ts";

interface Noted {
  readonly name: string;
  readonly words: Record<string, unknown>;
  readonly links: string[];
  isEnded: boolean;
  failed: unknown;
}

/** Notes every span, as a tracer would. */
function noting() {
  const spans: Noted[] = [];
  function make(name: string, attributes: Readonly<Record<string, unknown>>): Span {
    const span: Noted = { name, words: { ...attributes }, links: [], isEnded: false, failed: undefined };
    spans.push(span);
    return {
      traceparent: `00-${"a".repeat(32)}-${String(spans.length).padStart(16, "0")}-01`,
      child: (child, more = {}) => make(child, more),
      within: (work) => work(),
      link: (traceparent) => void span.links.push(traceparent),
      end(more = {}, thrown) {
        Object.assign(span.words, more);
        span.isEnded = true;
        span.failed = thrown?.error;
      },
    };
  }
  const tracing: Tracing = { begin: (name, { attributes }) => make(name, attributes), current: () => undefined };
  return { spans, tracing };
}

function setUp() {
  const { spans, tracing } = noting();
  const ichido = createIchido({ store: memoryStore(), scope: () => ({ principal: "p" }), onUnknown: "rerun", tracing });
  const run = (key: string, fn: Parameters<typeof ichido.run>[1]) =>
    ichido.run({ operation: "job", scope: { principal: "p" }, key }, fn);
  return { spans, ichido, run };
}

describe("spans", () => {
  it("of a run are those of its claim, steps and completion; a replay links to the first", async () => {
    const { spans, ichido, run } = setUp();
    await run("a", (context) => context.step("bank.charge", () => 7));
    await run("a", () => 8);
    const [first, second] = spans.filter(({ name }) => name === "idempotency.request");
    expect(first?.words).toMatchObject({ "idempotency.outcome": "executed", "idempotency.attempt": 1 });
    expect(second?.words).toMatchObject({ "idempotency.outcome": "replayed" });
    expect(second?.links).toHaveLength(1);
    expect(spans.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["idempotency.claim", "idempotency.step", "idempotency.complete"]),
    );
    expect(spans.every(({ isEnded }) => isEnded)).toBe(true);
    await ichido.close();
  });

  it("of a step that throws tell that it failed, and nothing of the key", async () => {
    const { spans, ichido, run } = setUp();
    const refusal = new Error("no");
    await expect(
      run("secret-key", (context) => context.step("bank.charge", () => Promise.reject(refusal))),
    ).rejects.toBe(refusal);
    expect(spans.find(({ name }) => name === "idempotency.step")?.failed).toBe(refusal);
    expect(JSON.stringify(spans.map(({ words }) => words))).not.toContain("secret-key");
    await ichido.close();
  });

  it("are known by their form", () => {
    expect(isTraceparent(`00-${"a".repeat(32)}-${"b".repeat(16)}-01`)).toBe(true);
    for (const other of [undefined, "00-a-b-01", 7]) expect(isTraceparent(other)).toBe(false);
  });
});

describe("the type of an error", () => {
  it.each([
    [new IchidoError("store-unavailable", "down"), "store-unavailable"],
    [Object.assign(new Error("x"), { code: "ECONNRESET" }), "ECONNRESET"],
    [Object.assign(new Error("x"), { code: "" }), "Error"],
    [Object.assign(new Error("x"), { name: "key 4711 of ann" }), "error"],
    [undefined, "error"],
    [new TypeError("secret"), "TypeError"],
  ])("of %s is %s", (error, type) => {
    expect(errorType(error)).toBe(type);
  });
});
