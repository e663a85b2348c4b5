import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createOperationIds } from "./operation-id.ts";
import { profiles } from "../contract/profiles.ts";
import type { Key, Scope } from "../contract/record.ts";
import { identityOf } from "./scope.ts";

const acme = { tenant: "acme", principal: "alice" };
const identity = (key: string, scope: Scope = acme): ReturnType<typeof identityOf> =>
  identityOf(scope, "payment.create", key as Key, profiles.ietf);
const secret = "a secret of thirty-two characters or more";

describe.each([
  ["without a secret", undefined],
  ["with a secret", secret],
])("operation ids %s", (_, given) => {
  const ids = createOperationIds(given);

  it("come back for their caller, for every key, and are the same each time", () => {
    const printable = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 255 });
    fc.assert(
      fc.property(printable, (text) => {
        const made = identity(text);
        const id = ids.of(made);
        expect(id).toMatch(/^[\w-]+$/);
        expect(createOperationIds(given).of(made)).toBe(id);
        expect(ids.open(id, acme)).toEqual({ key: text, scopeHash: new Uint8Array(made.scopeHash) });
      }),
    );
  });

  it("hold neither the key nor the scope's hash, and share nothing between like keys", () => {
    const made = identity("alice@example.com");
    const bytes = Buffer.from(ids.of(made), "base64url");
    expect(bytes.includes("alice@example.com")).toBe(false);
    expect(bytes.includes(Buffer.from(made.scopeHash))).toBe(false);
    const other = Buffer.from(ids.of(identity("alice@example.con")), "base64url");
    const same = [...bytes].filter((byte, at) => byte === other[at]).length;
    expect(same).toBeLessThan(8);
  });

  it("are nothing to another caller", () => {
    const id = ids.of(identity("k"));
    for (const whose of [{ tenant: "acme" }, { principal: "alice" }, { tenant: "acmea", principal: "lice" }, {}]) {
      expect(ids.open(id, whose as Scope)).toBeUndefined();
    }
    expect(ids.open(ids.of(identity("k", { principal: "42" })), { principal: 42 })).toMatchObject({ key: "k" });
  });

  it("that were changed, cut or made up are nothing", () => {
    const id = ids.of(identity("key-1"));
    const bytes = Buffer.from(id, "base64url");
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(ids.open(changed.toString("base64url"), acme), `byte ${at}`).toBeUndefined();
    }
    const strange = ["", "abc", id.slice(0, -2), `${id}=`, `${id}+/`, `${id}A`, "A".repeat(5000)];
    for (const text of strange) expect(ids.open(text, acme), text.slice(0, 100)).toBeUndefined();
    expect(ids.open(undefined as never, acme)).toBeUndefined();
  });
});

it("an operation id of another secret is nothing", () => {
  const id = createOperationIds(secret).of(identity("k"));
  expect(createOperationIds().open(id, acme)).toBeUndefined();
  expect(createOperationIds(`${secret}!`).open(id, acme)).toBeUndefined();
});
