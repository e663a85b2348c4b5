import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDueQueue, type Queued } from "./due-queue.ts";

const put = fc.record({ entry: fc.nat(12), dueMs: fc.option(fc.nat(20), { nil: undefined }) });

describe("due queue", () => {
  it("always has an entry of the least due time first, whatever was queued, moved and taken out", () => {
    fc.assert(
      fc.property(fc.array(put, { maxLength: 200 }), (puts) => {
        const entries: Queued[] = Array.from({ length: 13 }, () => ({ dueMs: 0, place: -1 }));
        const model = new Map<Queued, number>();
        const queue = createDueQueue<Queued>();
        for (const { entry: index, dueMs } of puts) {
          const entry = entries[index] ?? expect.fail();
          queue.put(entry, dueMs);
          if (dueMs === undefined) model.delete(entry);
          else model.set(entry, dueMs);
          expect(queue.first()?.dueMs).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
        }
        const drained: number[] = [];
        for (let entry = queue.first(); entry !== undefined; entry = queue.first()) {
          drained.push(entry.dueMs);
          queue.put(entry, undefined);
        }
        expect(drained).toEqual([...model.values()].toSorted((a, b) => a - b));
      }),
    );
  });
});
