/** Statements that travel with BEGIN carry their values as literals: whatever is in them must come out unchanged. */
import fc from "fast-check";
import { createInbox } from "ichido/inbox";
import { pgTransactions } from "ichido/transactions";
import { Client, Pool } from "pg";
import { expect, it } from "vitest";
import { bytesLiteral, textLiteral } from "../../packages/ichido/src/transactions/literal.ts";
import { describeWith, freshDatabase } from "../support/services.ts";
import { message } from "./inbox-messages.ts";

describeWith("postgres", "literals", (server) => {
  it("any text and any bytes mean themselves, whatever standard_conforming_strings is", async () => {
    const client = new Client({ connectionString: server });
    await client.connect();
    for (const setting of ["on", "off"]) {
      await client.query(`set standard_conforming_strings = ${setting}; set escape_string_warning = off`);
      const texts = fc.string({ unit: fc.constantFrom("'", "\\", '"', "x", "é", "日", "\n", ";", "$", "--") });
      await fc.assert(
        fc.asyncProperty(texts, fc.uint8Array({ maxLength: 40 }), async (text, bytes) => {
          const { rows } = await client.query(`select ${textLiteral(text)} as text, ${bytesLiteral(bytes)} as bytes`);
          expect(rows[0].text).toBe(text);
          expect([...(rows[0].bytes as Buffer)]).toEqual([...bytes]);
        }),
        { numRuns: 100 },
      );
    }
    await client.end();
    expect(() => textLiteral("a\0b")).toThrow(/no NUL/);
  });

  it("an id full of quotes is taken once and changes nothing else", async () => {
    const database = await freshDatabase(server);
    const pool = new Pool({ connectionString: database.url, max: 2 });
    pool.on("error", () => {});
    const inbox = createInbox({ transactions: pgTransactions(pool), retentionMs: 86_400_000 });
    await inbox.migrate();
    const one = message({ id: `'\\');drop/**/table/**/ichido_inbox;--'` });
    let ran = 0;
    const handler = (): void => void (ran += 1);
    expect(await inbox.runOnce(one, "stock", handler)).toEqual({ outcome: "processed" });
    expect(await inbox.runOnce(one, "stock", handler)).toEqual({ outcome: "duplicate" });
    expect(ran).toBe(1);
    await pool.end();
    await database.drop();
  });
});
