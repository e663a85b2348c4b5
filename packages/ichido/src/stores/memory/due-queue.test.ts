import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDueQueue, type Queued } from "./due-queue.ts";

const put = fc.record({ entry: fc.nat(12), dueUs: fc.option(fc.nat(20), { nil: undefined }) });

describe("due queue", () => {
  it("always has an entry of the least due time first, whatever was queued, moved and taken out", () => {
    fc.assert(
      fc.property(fc.array(put, { maxLength: 200 }), (puts) => {
        const entries: Queued[] = Array.from({ length: 13 }, () => ({ dueUs: 0, place: -1 }));
        const model = new Map<Queued, number>();
        const queue = createDueQueue<Queued>();
        for (const { entry: index, dueUs } of puts) {
          const entry = entries[index] ?? expect.fail();
          queue.put(entry, dueUs);
          if (dueUs === undefined) model.delete(entry);
          else model.set(entry, dueUs);
          expect(queue.first()?.dueUs).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
        }
        const drained: number[] = [];
        for (let entry = queue.first(); entry !== undefined; entry = queue.first()) {
          drained.push(entry.dueUs);
          queue.put(entry, undefined);
        }
        expect(drained).toEqual([...model.values()].toSorted((a, b) => a - b));
      }),
    );
  });
});
