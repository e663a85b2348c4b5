import { describe, expect, it } from "vitest";
import { IchidoError } from "../../core/contract/errors.ts";
import { DeadlineError, failureKind, keepsConnection, toIchidoError } from "./failures.ts";

const fromServer = (code: string): Error => Object.assign(new Error("says the server"), { code, severity: "ERROR" });
const fromNetwork = (code: string): Error => Object.assign(new Error("says the socket"), { code });

describe("failures", () => {
  it.each([
    ["40001", "conflict", true],
    ["40P01", "conflict", true],
    ["55P03", "locked", true],
    ["57014", "timeout", true],
    ["57P01", "lost", false],
    ["57P03", "lost", false],
    ["08006", "lost", false],
    ["08P01", "lost", false],
    ["25006", "read-only", true],
    ["42P01", "schema", true],
    ["42883", "schema", true],
    ["3F000", "schema", true],
    ["53100", "refused", true],
    ["42501", "forbidden", true],
  ] as const)("SQLSTATE %s is %s", (state, kind, keeps) => {
    expect(failureKind(fromServer(state))).toBe(kind);
    expect(keepsConnection(fromServer(state))).toBe(keeps);
  });

  it("takes no code of the network for a SQLSTATE, whatever its length", () => {
    for (const code of ["EPIPE", "ECONNRESET", "ECONNREFUSED", "CONNECTION_CLOSED"]) {
      expect(failureKind(fromNetwork(code))).toBe("lost");
      expect(keepsConnection(fromNetwork(code))).toBe(false);
    }
    expect(failureKind(new Error("Connection terminated unexpectedly"))).toBe("lost");
  });

  it("looks through the error that an ORM wraps around the driver's", () => {
    expect(failureKind(new Error("Failed query", { cause: fromServer("55P03") }))).toBe("locked");
  });

  it("does not take a mistake of the program for a lost connection", () => {
    expect(failureKind(new TypeError("a row does not hold what ichido wrote"))).toBe("refused");
  });

  it("says what to do, with the state and never with the server's words", () => {
    const error = toIchidoError(fromServer("42P01"), "claim");
    expect(error.code).toBe("schema-missing");
    expect(error.message).toContain("42P01");
    expect(error.message).toContain("migrate");
    expect(error.message).not.toContain("says the server");
    expect(toIchidoError(new DeadlineError("late"), "claim").code).toBe("store-unavailable");
    const own = new IchidoError("option-invalid", "no");
    expect(toIchidoError(own, "claim")).toBe(own);
  });
});
