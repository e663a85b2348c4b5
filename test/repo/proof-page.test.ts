import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { boundOf, pageOf } from "../../scripts/proof/page.ts";
import { readAll } from "../../scripts/proof/readings.ts";

const reference = new URL("../../docs/reference/", import.meta.url);
const readings = readAll(new URL("proof", reference).pathname);

test("proof.md is what the data says: npm run proof:report writes it", () => {
  expect(readFileSync(new URL("proof.md", reference), "utf8")).toBe(pageOf(readings));
});

test("no run that is told of was broken or empty, and every control was broken", () => {
  const proofs = readings.filter(({ control }) => control === undefined);
  expect(proofs.length).toBeGreaterThan(10);
  expect(proofs.filter(({ violations, vacuous }) => violations > 0 || vacuous.length > 0)).toEqual([]);
  expect(readings.filter(({ control, violations }) => control !== undefined && violations === 0)).toEqual([]);
});

test("every run tells its day and its commit", () => {
  for (const { file, date, commit } of readings) {
    expect(date, file).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(commit, file).toMatch(/^[0-9a-f]{40}(, with changes)?$/);
  }
});

test("guarantees.md names commands and paths that are there", () => {
  const page = readFileSync(new URL("../guide/guarantees.md", reference), "utf8");
  const { scripts } = JSON.parse(readFileSync(new URL("../../package.json", reference), "utf8")) as {
    scripts: Readonly<Record<string, string>>;
  };
  const commands = [...page.matchAll(/`npm run ([\w:]+)/g)].map(([, name = ""]) => name);
  expect(commands.length).toBeGreaterThan(10);
  expect(commands.filter((name) => scripts[name] === undefined)).toEqual([]);
  const paths = [...page.matchAll(/`npm test -- ([\w./-]+)`/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(5);
  expect(paths.filter((path) => !existsSync(new URL(`../../${path}`, reference)))).toEqual([]);
});

test("a bound follows from what was tried, and a broken promise has none", () => {
  expect(boundOf({ tried: 3_000, violations: 0 })).toBe("0 in 3,000: below 0.10 %");
  expect(boundOf({ tried: 3_000, violations: 1 })).toBe("broken");
  expect(boundOf({ tried: 2, violations: 0 })).toBe("–");
  expect(boundOf({ tried: 40, violations: 0, isExhaustive: true })).toBe("all");
});

test("a run that tells no source is marked as of an earlier state", () => {
  const [known] = readings.filter(({ source, control }) => source !== undefined && control === undefined);
  if (known === undefined) throw new Error("some run tells its source");
  const { source, ...earlier } = known;
  const shown = (page: string): string => page.slice(page.indexOf("| Commit, source |"));
  expect(shown(pageOf([known]))).toContain(`, ${source?.slice(0, 10)} |`);
  expect(shown(pageOf([earlier]))).toContain(", earlier |");
  const rows = readFileSync(new URL("proof.md", reference), "utf8").split("\n");
  for (const { file, source: told, control } of readings) {
    if (control === undefined && told === undefined)
      expect(
        rows.find((row) => row.includes(`(proof/${file})`)),
        file,
      ).toMatch(/, earlier \|$/);
  }
});
