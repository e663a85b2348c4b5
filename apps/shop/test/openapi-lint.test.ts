import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, it } from "vitest";
import { openapi } from "../src/http/openapi.ts";

it("a linter of API descriptions finds nothing to say", async () => {
  const config = await createConfig({ extends: ["recommended"] });
  const found = await lintFromString({ source: JSON.stringify(openapi), config });
  const told = found.map(({ ruleId, location }) => `${ruleId} ${String(location[0]?.pointer)}`);
  // Open pages of the service refuse nobody, so they have no answer of that kind to describe.
  const open = Object.entries(openapi.paths)
    .filter(([, operations]) => "get" in operations && "security" in operations.get)
    .map(([path]) => `operation-4xx-response #/paths/${path.replaceAll("/", "~1")}/get/responses`);
  expect(told.toSorted()).toEqual(open.toSorted());
});
