import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const stores = new URL("../../packages/ichido/src/stores/", import.meta.url);

function textsOf(folder: string): readonly string[] {
  const url = new URL(`${folder}/`, stores);
  return readdirSync(url).map((name) => readFileSync(new URL(name, url), "utf8"));
}

it("S8 SQL and Lua name the bound of an absurd lease, and state none of their own", () => {
  const postgres = [...textsOf("postgres/sql"), ...textsOf("postgres/migrations")];
  const bounds = [
    ...postgres.flatMap((text) => [...text.matchAll(/lease_until <= [\w.()]+ \+ interval '(.*?) s'/g)]),
    ...textsOf("redis/lua").flatMap((text) => [...text.matchAll(/lease\w* <= (?:now|clock) \+ (\S+)/gi)]),
  ].map(([, bound]) => bound);
  expect(bounds.length).toBeGreaterThanOrEqual(10);
  expect(new Set(bounds)).toEqual(new Set(["{leaseAbsurdSeconds}", "{leaseAbsurdUs}"]));
});
