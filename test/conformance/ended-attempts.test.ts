import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const inFlight = 64;
const numbersEach = 2_000;

test("attempts that have ended go with the next collection of young objects, however old the map is", () => {
  const program = fileURLToPath(new URL("ended-attempts.child.ts", import.meta.url));
  const flags = ["--expose-gc", "--conditions=ichido-source", "--disable-warning=ExperimentalWarning"];
  const out = execFileSync(process.execPath, [...flags, program, String(inFlight), String(numbersEach)], {
    encoding: "utf8",
  });
  const { grown, size } = JSON.parse(out) as { readonly grown: number; readonly size: number };
  expect(size).toBe(inFlight);
  // Those that were under way at one of the collections; else it would be those of every copy of the table.
  expect(grown).toBeLessThan(7 * inFlight * numbersEach * 8);
});
