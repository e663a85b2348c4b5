/** One table says what ichido runs with; the package's manifest and the tests agree with it. */
import { describe, expect, it } from "vitest";
import { read } from "./tracked.ts";

type Versions = Readonly<Record<string, string>>;
interface Manifest {
  readonly peerDependencies: Versions;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly devDependencies: Versions;
  readonly engines: Versions;
}

const manifest = JSON.parse(read("packages/ichido/package.json")) as Manifest;
const installed: Versions = (JSON.parse(read("package.json")) as Manifest).devDependencies;
const oldest: Versions = (JSON.parse(read("test/package/oldest/package.json")) as Manifest).devDependencies;
const page = read("docs/reference/support.md");

/** `` | `pg` | `^8.11.0` | 8.23 | … | `` */
const rows = [...page.matchAll(/^\| `([^`]+)` \| `([^`]+)` \| ([^|]+) \|/gm)].map(
  ([, name = "", range = "", tested = ""]) => ({
    name,
    range,
    tested: tested.split(",").map((version) => version.trim()),
  }),
);

const numbers = (version: string): number[] => version.split(".").map(Number);
const minor = (version: string): string => version.split(".").slice(0, 2).join(".");

/** As far as our ranges go: `^1.2.0`, `>=1.2`, and several of them. */
function satisfies(version: string, range: string): boolean {
  return range.split(" || ").some((each) => {
    const [, sign = "", base = ""] = /^(\^|>=)([\d.]+)$/.exec(each) ?? [];
    expect(["^", ">="], each).toContain(sign);
    const [given, least] = [numbers(version), numbers(base)];
    const first = given.findIndex((part, index) => part !== (least[index] ?? 0));
    const isLeast = first === -1 || (given[first] ?? 0) > (least[first] ?? 0);
    const fixed = least[0] === 0 ? 2 : 1;
    return isLeast && (sign === ">=" || given.slice(0, fixed).join() === least.slice(0, fixed).join());
  });
}

describe("what ichido runs with", () => {
  it("is in the manifest as optional peers, both ways", () => {
    expect(Object.fromEntries(rows.map(({ name, range }) => [name, range]))).toEqual(manifest.peerDependencies);
    const optional = Object.entries(manifest.peerDependenciesMeta).filter(([, meta]) => meta.optional === true);
    expect(optional.map(([name]) => name).toSorted()).toEqual(Object.keys(manifest.peerDependencies).toSorted());
  });

  it("is tested in the versions that the table names, which are in its ranges", () => {
    expect(rows.length).toBeGreaterThan(20);
    for (const { name, range, tested } of rows) {
      const aliases = Object.values(installed).flatMap((each) =>
        each.startsWith(`npm:${name}@`) ? [each.split("@")[1] ?? ""] : [],
      );
      const run = [oldest[name], ...aliases, installed[name]].filter((version) => version !== undefined);
      expect(run.map(minor), name).toEqual(tested);
      for (const version of run) expect(satisfies(version, range), `${name} ${version} in ${range}`).toBe(true);
    }
  });

  it("names every package of the page on drivers, and the floor of Node", () => {
    const table = read("docs/reference/drivers.md").split("Servers:")[0] ?? "";
    const names = [...table.matchAll(/^\| (.+?) \|/gm)].slice(1).flatMap(([, cell = ""]) => cell.split(", "));
    const known: Versions = { drizzle: "drizzle-orm" };
    const wanted = names
      .map((name) => name.replaceAll(/`| \(.*\)/g, "").toLowerCase())
      .map((name) => known[name] ?? name);
    const listed = new Set([...rows.map(({ name }) => name), "node:sqlite"]);
    expect(wanted.length).toBeGreaterThan(10);
    expect(wanted.filter((name) => !listed.has(name))).toEqual([]);
    expect(page).toContain(`| Node | ${(manifest.engines["node"] ?? "").replace(">=", "")} or newer`);
  });
});
