/** A cursor stands in addresses and links: it leads on, and tells no key. */
import { expect, test } from "vitest";
import type { KeysAnswer } from "../../packages/ichido/src/console/contract.ts";
import { forEachDatabase } from "./databases.ts";
import { visit } from "./visitor.ts";

/** Every reading of a text that somebody would try. */
function readings(text: string): string {
  return [text, ...text.split(".")]
    .map((part) => `${part} ${Buffer.from(part, "base64url").toString("latin1")}`)
    .join(" ");
}

forEachDatabase("the cursor of Keys", (bed) => {
  test("leads through all records once, and none of their keys can be read from it", async () => {
    const { get, console } = visit(bed().ichido);
    const ids: string[] = [];
    const cursors: string[] = [];
    let cursor: string | undefined;
    do {
      const more = cursor === undefined ? "" : `&cursor=${cursor}`;
      const { body } = await get<KeysAnswer>(`api/keys?limit=2${more}`);
      ids.push(...body.records.map(({ id }) => id));
      ({ cursor } = body);
      if (cursor !== undefined) cursors.push(cursor);
    } while (cursor !== undefined && cursors.length < 50);
    expect(ids.length).toBeGreaterThanOrEqual(6);
    expect(new Set(ids).size).toBe(ids.length);
    expect(cursors.length).toBeGreaterThanOrEqual(2);
    const told = cursors.map(readings).join("\n");
    expect(Object.values(bed().keys).filter((key) => told.includes(key) || told.includes(key.slice(0, 12)))).toEqual(
      [],
    );
    console.close();
  });

  test("what no page gave is refused: a handle, a store's own cursor, a changed one", async () => {
    const { get, console } = visit(bed().ichido);
    const { body } = await get<KeysAnswer>("api/keys?limit=1");
    const changed = `${body.cursor?.startsWith("A") === true ? "B" : "A"}${body.cursor?.slice(1) ?? ""}`;
    for (const cursor of [body.records[0]?.handle, changed, "AAAA.AAAA", "0"])
      expect(await get(`api/keys?cursor=${cursor ?? ""}`), cursor).toMatchObject({
        status: 400,
        body: { code: "parameter", parameter: "cursor" },
      });
    console.close();
  });
});
