/** Texts through every library on MariaDB, whatever the server's mode says about backslashes. */
import { createOnce } from "ichido/guards";
import { createOutbox } from "ichido/outbox";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { mariadbBench } from "./databases.ts";
import type { Bench } from "./databases.ts";
import { onMariadb } from "./libraries.ts";

const texts = [
  "', 1, char(101,118,105,108)) -- ",
  "it's",
  String.raw`back\slash\'`,
  "\\",
  "",
  "? $1 日本 😀",
  "a\0b\n",
];

describeWith("mariadb", "texts on MariaDB", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await mariadbBench();
    const side = bench.side();
    await side.runner.run(
      (_tx, handle) =>
        handle.execute(
          "CREATE TABLE orders (id varchar(80) PRIMARY KEY, c varchar(60) CHARACTER SET utf8mb4, approved int)",
          [],
        ),
      { unwatched: true },
    );
    await createOutbox({ transactions: side.runner, source: "/shop", topics: {} }).migrate();
    await side.close();
  });
  afterAll(() => bench?.close());

  const modes = ["NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES", "ANSI_QUOTES,STRICT_TRANS_TABLES"];
  test.each(Object.keys(onMariadb).flatMap((name) => modes.map((mode) => [name, mode] as const)))(
    "a text is a value and nothing else: %s under %s",
    async (name, mode) => {
      const wrapped = await onMariadb[name]?.(bench.url);
      if (wrapped === undefined) throw new Error("no such library");
      const outbox = createOutbox({ transactions: wrapped.runner, source: "/shop", topics: {} });
      try {
        const found = await wrapped.runner.run(async (_tx, handle) => {
          await handle.execute(`SET SESSION sql_mode = '${mode}'`, []);
          const create = (text: string, at: number) =>
            createOnce(handle, {
              table: "orders",
              key: { id: `${name} ${mode.length} ${at}` },
              content: { c: text, approved: 0 },
            });
          for (const [at, text] of texts.entries()) {
            expect(await create(text, at)).toEqual({ outcome: "created" });
            expect(await create(text, at)).toEqual({ outcome: "same" });
          }
          await outbox.add(handle, { topic: "order.paid", key: "O'Brien \\", payload: {} });
          const { rows } = await handle.execute("SELECT c, approved FROM orders WHERE id LIKE ? ORDER BY id", [
            `${name} ${mode.length} %`,
          ]);
          return rows.map((row) => [row["c"], row["approved"]]);
        });
        expect(found).toEqual(texts.map((text) => [text, 0]));
      } finally {
        await wrapped.close();
      }
    },
  );
});
