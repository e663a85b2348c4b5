import { expect, it } from "vitest";
import { bed, executionOf, problemIn } from "../../../../../test/support/engine-bed.ts";
import { forget } from "./forgetting.ts";

const label = { name: "customer", value: "cus_42" };
const byWhom = { actor: "ann", reason: "ticket 7" };
const labelled = () => bed({ labels: () => ({ customer: "cus_42" }), onUnknown: "hold" });

it("forgets all records of a label, and tells what it had to leave", async () => {
  const all = labelled();
  await all.serve({ key: "key-1" });
  await all.serve({ key: "key-2" });
  executionOf(await all.ask({ key: "key-3" }));
  const open = executionOf(await all.ask({ key: "key-4" }));
  await open.settle({ kind: "threw", error: new Error("lost") });

  const dry = await forget(all.ichido, { label, ...byWhom, dryRun: true });
  const left = [
    ["key-3", "live"],
    ["key-4", "unknown"],
  ];
  expect(dry).toMatchObject({ forgotten: 2, already: 0 });
  expect(dry.left.map(({ identity, why }) => [identity.key, why])).toEqual(left);
  expect((await all.store.auditLog({ limit: 10 })).entries).toEqual([]);

  const done = await forget(all.ichido, { label, ...byWhom });
  expect(done).toMatchObject({ forgotten: 2, already: 0 });
  expect(done.left.map(({ identity, why }) => [identity.key, why])).toEqual(left);
  expect((await all.store.auditLog({ limit: 10 })).entries.map(({ action }) => action)).toEqual(["forget", "forget"]);
  expect(problemIn(await all.ask({ key: "key-1" }))).toMatchObject({
    code: "response-not-stored",
    originalStatus: 201,
    title: "The operation was done, but its answer was not kept",
    detail: expect.stringMatching(/erased/) as string,
  });
  expect(problemIn(await all.ask({ key: "key-1", body: { amount: 7 } }))).toMatchObject({
    code: "idempotency-key-reused",
  });
  expect((await forget(all.ichido, { label, ...byWhom })).forgotten).toBe(0);
});

it("empties what was said of a label's value about no record; a trial does not", async () => {
  const all = labelled();
  await all.store.note({ actor: "bob", action: "reveal", reason: "cus_42 called" });
  const reasons = async (): Promise<readonly string[]> =>
    (await all.store.auditLog({ limit: 10 })).entries.map(({ reason }) => reason);
  await forget(all.ichido, { label, ...byWhom, dryRun: true });
  expect(await reasons()).toEqual(["cus_42 called"]);
  await forget(all.ichido, { label, ...byWhom });
  expect(await reasons()).toEqual([""]);
});

it("forgets one record as it was seen, and not one that changed since", async () => {
  const all = labelled();
  await all.serve();
  const { records } = await all.store.list({ limit: 10 });
  const [record = expect.fail()] = records;
  expect(await forget(all.store, { record: { ...record, fence: record.fence - 1 }, ...byWhom })).toMatchObject({
    forgotten: 0,
    left: [{ why: "stale" }],
  });
  expect(await forget(all.store, { record, ...byWhom })).toMatchObject({ forgotten: 1, left: [] });
  expect(await forget(all.store, { record, ...byWhom })).toMatchObject({ forgotten: 0, already: 1 });
});

it.each([
  [{ ...byWhom }, /either a record or a label/],
  [{ ...byWhom, label, record: {} }, /either a record or a label/],
  [{ label, actor: "", reason: "x" }, /option actor/],
  [{ label, actor: "ann", reason: "cus_42 asked for it" }, /does not name what is to be forgotten/],
  [{ label, ...byWhom, dryrun: true }, /did you mean dryRun/],
])("refuses %j", async (request, message) => {
  const { store } = labelled();
  await expect(forget(store, request as never)).rejects.toThrow(message);
});

it("reaches every record of a label, beyond the page of a list", async () => {
  const all = labelled();
  const count = 205;
  for (let at = 0; at < count; at += 1) await all.serve({ key: `key-${at}` });
  expect(await forget(all.ichido, { label, ...byWhom, dryRun: true })).toEqual({
    forgotten: count,
    already: 0,
    left: [],
  });
  expect(await forget(all.ichido, { label, ...byWhom })).toEqual({ forgotten: count, already: 0, left: [] });
  expect((await all.store.list({ label, limit: 10 })).records).toEqual([]);
});

it("a dry run counts a record that was forgotten before", async () => {
  const all = labelled();
  await all.serve();
  const [record = expect.fail()] = (await all.store.list({ limit: 10 })).records;
  await forget(all.store, { record, ...byWhom });
  const [gone = expect.fail()] = (await all.store.list({ limit: 10 })).records;
  expect(await forget(all.store, { record: gone, ...byWhom, dryRun: true })).toEqual({
    forgotten: 0,
    already: 1,
    left: [],
  });
});

it.each([
  [{ ...byWhom, label: { name: 7, value: "x" } }, /option label: expected \{ name, value \}, both texts/],
  [{ ...byWhom, label: { name: "customer" } }, /option label/],
  [{ label, actor: "ann", reason: " " }, /option reason/],
  [{ label, actor: "cus_42", reason: "ticket 7" }, /option reason.*got "one that does"/],
  [{ label, ...byWhom, dryRun: "yes" }, /option dryRun/],
  [{ ...byWhom, label, record: {} }, /option forget.*got "both"/],
  [{ ...byWhom }, /option forget.*got undefined/],
])("tells what is wrong with %j", async (request, message) => {
  const { store } = labelled();
  await expect(forget(store, request as never)).rejects.toThrow(message);
});

it("an empty label names nobody: any reason will do", async () => {
  const { store } = labelled();
  const request = { label: { name: "customer", value: "" }, ...byWhom };
  expect(await forget(store, request)).toEqual({ forgotten: 0, already: 0, left: [] });
});
