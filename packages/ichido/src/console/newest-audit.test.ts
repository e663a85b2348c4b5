import { expect, test } from "vitest";
import type { AuditLogEntry } from "../core/contract/history.ts";
import type { Store } from "../core/contract/store.ts";
import { newestAudit, type AuditPlace } from "./newest-audit.ts";

const nowMs = 1_800_000_000_000;
const dayMs = 86_400_000;

/** As stores walk it: from old to new. */
function auditOf(atMs: readonly number[]): Pick<Store, "auditLog"> {
  const all = atMs.map((at, place): AuditLogEntry => ({ atMs: at, actor: "ann", action: "hold", reason: `${place}` }));
  return {
    async auditLog({ limit, cursor, fromAgoMs }) {
      const after = cursor === undefined ? 0 : Number(cursor);
      const found = all.filter(
        ({ atMs: at, reason }) => Number(reason) >= after && (fromAgoMs === undefined || at >= nowMs - fromAgoMs),
      );
      const entries = found.slice(0, limit);
      const last = entries.at(-1);
      return { entries, ...(last !== undefined && { cursor: String(Number(last.reason) + 1) }) };
    },
  };
}

async function walk(store: Pick<Store, "auditLog">, sinceMs: number, limit: number): Promise<readonly number[][]> {
  const pages: number[][] = [];
  let place: AuditPlace | undefined = { beforeMs: Number.MAX_SAFE_INTEGER, shown: 0 };
  while (place !== undefined && pages.length < 2_000) {
    const { entries, next }: Awaited<ReturnType<typeof newestAudit>> = await newestAudit(store, {
      nowMs,
      sinceMs,
      place,
      limit,
    });
    pages.push(entries.map(({ reason }) => Number(reason)));
    place = next;
  }
  return pages;
}

const newestFirst = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => count - 1 - at);

test.each([
  ["over years", Array.from({ length: 120 }, (_, at) => nowMs - (120 - at) * 20 * dayMs)],
  ["within an hour", Array.from({ length: 120 }, (_, at) => nowMs - (120 - at) * 1_000)],
  ["in one moment", Array.from({ length: 120 }, () => nowMs - 5_000)],
])("the newest come first and each comes once: %s", async (_, atMs) => {
  const [first, ...rest] = await walk(auditOf(atMs), nowMs - 3_650 * dayMs, 50);
  expect([...(first ?? []), ...rest.flat()]).toEqual(newestFirst(120));
});

test("what is older than was asked for stays away, and an empty audit is one empty page", async () => {
  const atMs = Array.from({ length: 40 }, (_, at) => nowMs - (40 - at) * dayMs);
  expect((await walk(auditOf(atMs), nowMs - 10 * dayMs, 4)).flat()).toEqual(newestFirst(40).slice(0, 10));
  expect(await walk(auditOf([]), nowMs - 10 * dayMs, 4)).toEqual([[]]);
});

test("what is done right now is on the first page, also before more than can be read at once", async () => {
  const store = auditOf([...Array.from({ length: 10_500 }, (_, at) => nowMs - 3 * dayMs + at), nowMs - 9]);
  const place = { beforeMs: Number.MAX_SAFE_INTEGER, shown: 0 };
  const { entries } = await newestAudit(store, { nowMs, sinceMs: nowMs - 3_650 * dayMs, place, limit: 50 });
  expect(entries.map(({ reason }) => reason)).toEqual(["10500"]);
});
