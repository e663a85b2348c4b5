/** Parameters beside the address: what access logs write down holds no key. */
import { expect, test } from "vitest";
import type { KeysAnswer } from "../../packages/ichido/src/console/contract.ts";
import { forEachDatabase } from "./databases.ts";
import { visit } from "./visitor.ts";

forEachDatabase("parameters in a header", (bed) => {
  test("find the same as in the address, are checked as strictly, and are not taken from both", async () => {
    const { get } = visit(bed().ichido);
    const { paid } = bed().keys;
    const byAddress = await get<KeysAnswer>(`api/keys?key=${paid}`);
    const byHeader = await get<KeysAnswer>("api/keys", { "x-ichido-query": `key=${paid}` });
    expect(byHeader.body.records.map(({ id }) => id)).toEqual(byAddress.body.records.map(({ id }) => id));
    expect(byHeader.body.records).toHaveLength(1);
    const label = new URLSearchParams({ label: "customer=42" }).toString();
    expect((await get<KeysAnswer>("api/keys", { "x-ichido-query": label })).body.records.length).toBeGreaterThan(2);
    expect(
      (await get<KeysAnswer>("api/keys?in=header", { "x-ichido-query": `key=${paid}` })).body.records,
    ).toHaveLength(1);
    // Dropped on the way: a filter must not become everything.
    expect((await get("api/keys?in=header")).status).toBe(400);
    for (const [path, query] of [
      ["api/keys", "nothing=1"],
      ["api/keys", "key="],
      ["api/keys?state=unknown", `key=${paid}`],
      ["api/keys?in=header&state=unknown", `key=${paid}`],
      ["api/keys?in=address", ""],
    ] as const)
      expect(await get(path, { "x-ichido-query": query }), query).toMatchObject({
        status: 400,
        body: { code: "parameter" },
      });
  });
});
