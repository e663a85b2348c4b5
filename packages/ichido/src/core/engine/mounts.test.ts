import Fastify from "fastify";
import { describe, expect, it, vi } from "vitest";
import { alice, bed } from "../../../../../test/support/engine-bed.ts";
import { idempotency } from "../../adapters/fastify.ts";
import type { Execution } from "../contract/decision.ts";
import type { IchidoEvent } from "../contract/events.ts";
import type { NeutralRequest } from "../contract/message.ts";
import { checkMountedOnce, forgetClaim, noteClaim } from "./mounts.ts";

function told(events: readonly IchidoEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "warning" && event.code === "protects-nothing" ? [event.message] : [],
  );
}

function requestOf(method: string): NeutralRequest<typeof alice> {
  const bytes = new TextEncoder().encode("{}");
  return {
    method,
    target: "/payments/1",
    headerLines: (name) => (name === "idempotency-key" ? ["k"] : []),
    body: async () => ({ kind: "bytes", bytes }),
    native: alice,
  };
}

describe("a mount that protects nothing", () => {
  it("is told of once, at the first unsafe request that passes it", async () => {
    const { ichido, events } = bed();
    const route = ichido.route({ operation: "payment.replace" });
    for (const method of ["GET", "PUT", "PUT", "DELETE"]) {
      expect((await ichido.decide(requestOf(method), route)).kind).toBe("pass");
    }
    expect(told(events)).toEqual([expect.stringMatching(/^payment\.replace: .* for PUT, .* POST, PATCH\. .*methods/)]);
  });

  it("is not told of where it protects something, or where only safe requests pass", async () => {
    const { ichido, events } = bed();
    const whole = ichido.route({ operation: "router.all" });
    for (const method of ["GET", "POST", "DELETE"]) await ichido.decide(requestOf(method), whole);
    const named = ichido.route({ operation: "payment.replace", methods: ["PUT"] });
    await ichido.decide(requestOf("PUT"), named);
    expect(told(events)).toEqual([]);
  });

  it("on Fastify, which knows the methods of its routes, at the start and for GET too", async () => {
    const { ichido, events } = bed();
    const app = Fastify();
    await app.register(idempotency, { ichido: ichido as never });
    const config = (operation: string): object => ({ config: { idempotency: { operation } } });
    app.get("/read", config("payment.read"), async () => "");
    app.post("/pay", config("payment.create"), async () => "");
    app.route({ method: ["PUT", "POST"], url: "/both", ...config("payment.both"), handler: async () => "" });
    await app.ready();
    expect(told(events)).toEqual([expect.stringContaining("payment.read: idempotency is mounted for GET")]);
    await app.close();
  });
});

describe("a scope that throws", () => {
  const broken = {
    scope: (): never => {
      throw new TypeError("Cannot read properties of undefined (reading 'id')");
    },
  };

  it("is named, with what it threw and what to give for routes without a user", async () => {
    const { ask, store } = bed(broken);
    const error: unknown = await ask().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "scope-missing", cause: expect.any(TypeError) as TypeError });
    expect((error as Error).message).toMatch(
      /option scope of createIchido.*it threw TypeError: .*'id'.*without a user/,
    );
    expect(store.calls).not.toContain("claim");
  });

  it("in observe mode the warning says so", async () => {
    const { ask, events } = bed({ ...broken, enforce: false });
    expect((await ask()).kind).toBe("pass");
    expect(events).toContainEqual(
      expect.objectContaining({
        code: "scope-missing",
        message: expect.stringContaining("it threw TypeError") as string,
      }),
    );
  });
});

describe("a request under the claims of several mounts", () => {
  function execution() {
    const release = vi.fn();
    return { release, execution: { context: { release } } as unknown as Execution };
  }

  it("is refused by the second mount of an operation, and the claim of the first is given back", () => {
    const request = {};
    const outer = execution();
    const other = execution();
    checkMountedOnce(request, "pay");
    noteClaim(request, "pay", outer.execution);
    checkMountedOnce(request, "ship");
    noteClaim(request, "ship", other.execution);
    expect(() => checkMountedOnce(request, "pay")).toThrow(/"pay" is mounted twice/);
    expect(outer.release).toHaveBeenCalledOnce();
    expect(other.release).not.toHaveBeenCalled();
  });

  it("may be handed in again once its claim is forgotten, and forgets that claim alone", () => {
    const request = {};
    noteClaim(request, "pay", execution().execution);
    noteClaim(request, "ship", execution().execution);
    forgetClaim(request, "pay");
    forgetClaim(request, "pay");
    checkMountedOnce(request, "pay");
    expect(() => checkMountedOnce(request, "ship")).toThrow(/"ship" is mounted twice/);
    noteClaim(request, "pay", execution().execution);
    expect(() => checkMountedOnce(request, "pay")).toThrow(/"pay" is mounted twice/);
  });

  it("takes no note where it is frozen", () => {
    const request = Object.freeze({});
    noteClaim(request, "pay", execution().execution);
    checkMountedOnce(request, "pay");
    forgetClaim(request, "pay");
  });
});
