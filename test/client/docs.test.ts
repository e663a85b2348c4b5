import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as client from "ichido/client";
import * as downstream from "ichido/client/downstream";
import * as node from "ichido/client/node";
import * as react from "ichido/react";

const page = readFileSync(new URL("../../docs/reference/client.md", import.meta.url), "utf8");

/** First cells of the table rows under a heading, with the cell after. */
function rowsUnder(heading: string): Map<string, string> {
  const text = page.split(`${heading}\n`)[1]?.split(/\n#/)[0] ?? "";
  return new Map(
    [...text.matchAll(/^\| `([^`]+)` \| ([^|]*) \|/gm)].map(([, name = "", cell = ""]) => [name, cell.trim()]),
  );
}

describe("docs/reference/client.md says what the code says", () => {
  it.each([
    ["## `ichido/client`", client],
    ["## `ichido/client/node`", node],
    ["## `ichido/client/downstream`", downstream],
    ["## `ichido/react`", react],
  ])("%s lists its exports, both ways", (heading, exported) => {
    expect([...rowsUnder(heading).keys()].toSorted()).toEqual(Object.keys(exported).toSorted());
  });

  it("the retry defaults, both ways", () => {
    const documented = Object.fromEntries([...rowsUnder("### `retry`")].map(([name, cell]) => [name, Number(cell)]));
    expect(documented).toEqual(client.retryDefaults);
  });

  it("every code of ClientError, both ways", () => {
    const source = readFileSync(new URL("../../packages/ichido/src/client/errors.ts", import.meta.url), "utf8");
    const union = source.split("ClientErrorCode =")[1]?.split(";")[0] ?? "";
    const codes = [...union.matchAll(/"([^"]+)"/g)].map(([, code = ""]) => code);
    expect([...rowsUnder("### Codes of `ClientError`").keys()].toSorted()).toEqual(codes.toSorted());
  });
});
