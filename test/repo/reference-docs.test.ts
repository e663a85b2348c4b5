import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { catalogue, defaults, type IchidoErrorCode } from "ichido";
import { findings, verdicts } from "ichido/operations";
import { driverMinimum } from "../../packages/ichido/src/operations/driver-versions.ts";

const page = (name: string): string => readFileSync(new URL(`../../docs/reference/${name}`, import.meta.url), "utf8");

/** First cells of the table rows that begin with a code span. */
function rows(markdown: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of markdown.split("\n")) {
    const cells = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    const name = /^(?:<a id="[^"]+"><\/a>)?`([^`]+)`$/.exec(cells[0] ?? "")?.[1];
    if (name !== undefined) found.set(name, cells.slice(1));
  }
  return found;
}

describe("docs/reference says what the code says", () => {
  it("errors.md lists the catalogue, both ways, with status and retryable", () => {
    const documented = rows(page("errors.md"));
    expect([...documented.keys()].toSorted()).toEqual(Object.keys(catalogue).toSorted());
    for (const [code, [status = "", retryable = ""]] of documented) {
      expect(page("errors.md"), "where a problem's type may lead").toContain(`<a id="${code}"></a>\`${code}\``);
      const entry = catalogue[code as IchidoErrorCode];
      expect(status.startsWith(String(entry.status)), `${code}: ${status}`).toBe(true);
      expect(retryable.startsWith(entry.retryable ? "yes" : "no"), `${code}: ${retryable}`).toBe(true);
    }
  });

  it("doctor.md lists every finding with its severity, both ways", () => {
    const documented = rows(page("doctor.md"));
    expect([...documented].map(([code, [severity]]) => [code, severity])).toEqual(Object.entries(findings));
  });

  it("charged-twice.md explains every verdict, both ways", () => {
    const guide = readFileSync(new URL("../../docs/guide/charged-twice.md", import.meta.url), "utf8");
    const cells = guide.split("\n").flatMap((line) => (line.startsWith("| `") ? [line.split("|")[1] ?? ""] : []));
    const explained = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, kind = ""]) => kind));
    expect(explained.toSorted()).toEqual(Object.keys(verdicts).toSorted());
  });

  it("doctor knows the oldest drivers that package.json names", () => {
    const text = readFileSync(new URL("../../packages/ichido/package.json", import.meta.url), "utf8");
    const { peerDependencies } = JSON.parse(text) as { readonly peerDependencies: Readonly<Record<string, string>> };
    for (const [name, minimum] of Object.entries(driverMinimum)) {
      expect(/\d+\.\d+\.\d+/.exec(peerDependencies[name] ?? "")?.[0], name).toBe(minimum);
    }
  });

  it("options.md lists every default with its value, both ways", () => {
    const text = page("options.md").split("## Everything else")[1]?.split("## Route options")[0] ?? "";
    const documented = rows(text);
    expect([...documented.keys()].toSorted()).toEqual(Object.keys(defaults).toSorted());
    for (const [name, value] of Object.entries(defaults)) {
      expect(documented.get(name)?.[0]?.replaceAll("`", "")).toBe(String(value));
    }
  });

  it("regressions.md names a test for every behaviour, and each one named is there", () => {
    const isThere = (path: string): boolean =>
      ["", "test/", "packages/ichido/src/"].some((room) =>
        existsSync(new URL(`../../${room}${path}`, import.meta.url)),
      );
    const mended = page("regressions.md")
      .split("\n")
      .filter((line) => line.startsWith("| ") && !line.startsWith("| What could happen"));
    expect(mended.length).toBeGreaterThan(50);
    for (const line of mended) {
      const cell = line.split(" | ").at(-1) ?? "";
      const paths = cell.match(/[\w./-]+\.ts\b/g) ?? [];
      expect(paths.length > 0 || /(store|adapter)-?suite/i.test(cell), line).toBe(true);
      for (const path of paths) expect(isThere(path), `${path} in: ${line}`).toBe(true);
    }
  });

  it("drivers.md names tests that are there", () => {
    const paths = [...page("drivers.md").matchAll(/test\/[\w./-]+\.ts/g)].map(([path]) => path);
    expect(paths.length).toBeGreaterThan(5);
    for (const path of paths) expect(existsSync(new URL(`../../${path}`, import.meta.url)), path).toBe(true);
  });

  it("errors in the layer's range have distinct codes that are also problem types", () => {
    const codes = Object.keys(catalogue);
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });
});
