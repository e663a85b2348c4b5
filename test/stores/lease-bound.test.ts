import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { limits } from "../../packages/ichido/src/core/defaults.ts";
import { leaseAbsurdUs } from "../../packages/ichido/src/core/record-machine/bounds.ts";

const stores = new URL("../../packages/ichido/src/stores/", import.meta.url);

function textsOf(folder: string, from = ""): readonly (readonly [name: string, text: string])[] {
  const url = new URL(`${folder}/`, stores);
  return readdirSync(url)
    .filter((name) => name >= from)
    .map((name) => [`${folder}/${name}`, readFileSync(new URL(name, url), "utf8")] as const);
}

/** The bound in every comparison of a lease with the moment plus something. */
function boundsIn(text: string, comparison: RegExp): readonly number[] {
  return [...text.matchAll(comparison)].map(([, digits]) => Number(digits));
}

it("S8 SQL and Lua judge an absurd lease by the one bound: twice the longest lease", () => {
  expect(leaseAbsurdUs).toBe(2 * limits.leaseMsMax * 1_000);
  // Functions of earlier migrations stay for earlier releases.
  const postgres = [...textsOf("postgres/sql"), ...textsOf("postgres/migrations", "0007")];
  const seconds = postgres.flatMap(([, text]) =>
    boundsIn(text, /lease_until <= (?:\w+\.)?\w+(?:\(\))? \+ interval '(\d+) s'/g),
  );
  expect(seconds.length).toBeGreaterThanOrEqual(6);
  expect(new Set(seconds)).toEqual(new Set([leaseAbsurdUs / 1_000_000]));
  const lua = textsOf("redis/lua").flatMap(([, text]) => boundsIn(text, /\w+ <= (?:now|clock) \+ (\d+)/g));
  expect(lua.length).toBeGreaterThanOrEqual(4);
  expect(new Set(lua)).toEqual(new Set([leaseAbsurdUs]));
  // Nobody states it in another form that this test would not see.
  for (const [name, text] of [...postgres, ...textsOf("redis/lua")]) {
    expect(text, name).not.toMatch(/interval '60 s'|(?<!\d)60000000(?!\d)/);
  }
});
