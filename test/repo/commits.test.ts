import { expect, test } from "vitest";
import { faultsOf } from "../../scripts/commits.ts";

const source = ["packages/ichido/src/core/contract/errors.ts"];
const body = "\n\nA caller could not tell the two apart.";

test("a message that keeps the rules has no faults", () => {
  expect(faultsOf(`fix(core): tell a mismatch from a conflict${body}`, source)).toEqual([]);
  expect(faultsOf("docs: name the option", ["docs/guide/client.md"])).toEqual([]);
  expect(faultsOf("test: try two processes", ["packages/ichido/src/core/contract/errors.test.ts"])).toEqual([]);
});

test.each([
  ["subject is not `type(room): what`", `tell a mismatch from a conflict${body}`],
  ["subject of 91 characters, at most 72", `fix(core): ${"tell a mismatch ".repeat(5)}${body}`],
  ['"fixed" is no imperative', `core: fixed the mismatch${body}`],
  ['"adds" is no imperative', `core: adds a mismatch${body}`],
  ["two ideas in a subject: make two commits", `core: tell a mismatch; drop a conflict${body}`],
  ["subject ends with a full stop", `core: tell a mismatch.${body}`],
  ["no empty line after the subject", "core: tell a mismatch\nfrom a conflict"],
  ["changes what is shipped without a body that says why", "core: tell a mismatch"],
])("%s", (fault, message) => {
  expect(faultsOf(message, source)).toEqual([fault]);
});
