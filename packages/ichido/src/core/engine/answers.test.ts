import { expect, it } from "vitest";
import { answer, bed, executionOf } from "../../../../../test/support/engine-bed.ts";

it("a late attempt is not answered by a record of other content that has its key now", async () => {
  const all = bed({ leaseMs: 1_000 });
  const late = executionOf(await all.ask());
  const find = all.store.find.bind(all.store);
  all.store.break("renew", "fail");
  await all.clock.advance(2_000);
  all.store.mend();
  await answer(executionOf(await all.ask()));
  // As after the retention: the same key, used anew for something else.
  all.store.find = async (identity) => {
    const record = await find(identity);
    const hash = new Uint8Array(32);
    return record && { ...record, fingerprint: { version: record.fingerprint.version, raw: hash, canonical: hash } };
  };
  const told = await answer(late);
  if (told.kind !== "replace") return expect.unreachable(told.kind);
  expect(told.response.status).toBe(422);
  expect(Buffer.from(told.response.body ?? []).toString()).toContain("idempotency-key-reused");
});
