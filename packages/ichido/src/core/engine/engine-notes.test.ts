import { expect, it } from "vitest";
import { answer, bed, executionOf, type Bed } from "../../../../../test/support/engine-bed.ts";
import type { EngineNoteText } from "../contract/engine-note.ts";
import { memoryStore } from "../../stores/memory/index.ts";

async function notesOf({ store }: Bed): Promise<EngineNoteText[]> {
  return ((await store.engines?.()) ?? []).map(({ text }) => JSON.parse(text) as EngineNoteText);
}

it("an engine tells of itself ten seconds after its first use, then every minute, under one name", async () => {
  const all = bed({ release: "v7", processName: "api-1", sweepMs: "off" });
  await all.clock.advance(60_000);
  expect(await notesOf(all), "nothing before the first use").toEqual([]);
  const execution = executionOf(await all.ask({ route: { labels: () => ({ customer: "c_1" }) } }));
  await execution.context.step("bank.charge", () => 1);
  execution.context.resource("payment", 7);
  await all.clock.advance(9_999);
  expect(await notesOf(all)).toEqual([]);
  await answer(execution);
  await all.clock.advance(1);
  expect(await notesOf(all)).toEqual([
    {
      v: 1,
      process: "api-1",
      runtime: `Node ${process.versions.node}`,
      release: "v7",
      options: { storeTimeoutMs: 5_000, executionMs: 900_000, sweepMs: "off", sharedKeys: false },
      operations: {
        "payment.create": {
          options: expect.objectContaining({ leaseMs: 30_000, onUnknown: "rerun" }) as object,
          handled: { count: 1, p50Ms: 9_999, p99Ms: 9_999, maxMs: 9_999 },
          setsCookies: false,
        },
      },
      steps: { "bank.charge": expect.objectContaining({ answered: expect.objectContaining({ count: 1 }) as object }) },
      labels: ["customer"],
      resources: ["payment"],
    },
  ]);
  await all.serve({ key: "key-2" }, { headers: [["set-cookie", "a=b"]] });
  await all.clock.advance(59_999);
  expect((await notesOf(all))[0]?.operations["payment.create"]?.setsCookies).toBe(false);
  await all.clock.advance(1);
  const notes = await notesOf(all);
  expect(notes, "the same note, written again").toHaveLength(1);
  expect(notes[0]?.operations["payment.create"]).toMatchObject({ handled: { count: 2 }, setsCookies: true });
});

it("shared keys are told; without names there are defaults, and two engines have two notes", async () => {
  const clockless = bed({ scope: undefined, dangerouslyShareKeys: true, attemptLog: false } as never);
  await clockless.serve();
  await clockless.clock.advance(10_000);
  expect(await notesOf(clockless)).toMatchObject([{ process: "process", release: "", options: { sharedKeys: true } }]);
  expect((await clockless.store.engines?.())?.[0]?.engine).toMatch(/^[0-9a-f]{32}$/);
});

it("a failed note is written at the next turn; a closed engine writes none", async () => {
  const all = bed();
  await all.serve();
  all.store.break("noteEngine", "fail", 1);
  await all.clock.advance(10_000);
  expect(await notesOf(all)).toEqual([]);
  await all.clock.advance(60_000);
  expect(await notesOf(all)).toHaveLength(1);
  await all.ichido.close();
  const written = (): number => all.store.calls.filter((verb) => verb === "noteEngine").length;
  const before = written();
  await all.clock.advance(600_000);
  expect(written()).toBe(before);
});

it("a program with very many routes tells of its options alone", async () => {
  const all = bed();
  for (let at = 0; at < 99; at += 1) all.ichido.route({ operation: `${"o".repeat(190)} ${at}` });
  await executionOf(await all.ask()).context.step("bank.charge", () => 1);
  await all.clock.advance(10_000);
  const [note] = await notesOf(all);
  expect(note).toMatchObject({ operations: {}, steps: {}, labels: [], options: { storeTimeoutMs: 5_000 } });
});

it("a store without a place for notes is asked for nothing, and no timer is set for it", async () => {
  const withPlace = bed({ sweepMs: "off", attemptLog: false });
  await withPlace.serve();
  const without = bed({ sweepMs: "off", attemptLog: false }, (clock) => {
    const store = { ...memoryStore({ nowMs: clock.nowMs, environment: clock.environment }) };
    delete store.noteEngine;
    return store;
  });
  await without.serve();
  expect(without.clock.pending).toBe(withPlace.clock.pending - 1);
  await without.clock.advance(600_000);
  expect(without.store.calls).not.toContain("noteEngine");
});
