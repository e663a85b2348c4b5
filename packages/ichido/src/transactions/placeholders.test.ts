import { describe, expect, it } from "vitest";
import { fragmentsOf } from "./placeholders.ts";

describe("fragmentsOf", () => {
  it("orders numbered values by their places, repeated ones repeated", () => {
    expect(fragmentsOf("postgres", "SELECT $2, $1, $2", ["a", "b"])).toEqual({
      texts: ["SELECT ", ", ", ", ", ""],
      values: ["b", "a", "b"],
    });
  });

  it.each(["mysql", "sqlite"] as const)("takes question marks in order on %s", (dialect) => {
    expect(fragmentsOf(dialect, "UPDATE t SET a = ? WHERE b = ?", [1, 2])).toEqual({
      texts: ["UPDATE t SET a = ", " WHERE b = ", ""],
      values: [1, 2],
    });
  });

  it("leaves alone what is quoted or a comment", () => {
    const sql = "-- a ? and $1\nSELECT '?''$1', \"?\", `?` /* ? */, ?";
    expect(fragmentsOf("mysql", sql, ["x"])).toEqual({ texts: [sql.slice(0, -1), ""], values: ["x"] });
    const numbered = "/* $1 */ SELECT '$1', $1";
    expect(fragmentsOf("postgres", numbered, ["x"]).values).toEqual(["x"]);
  });
});
