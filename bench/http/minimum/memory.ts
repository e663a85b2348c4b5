import { leaseMs, type Kept, type MinimumStore } from "./minimum.ts";

export function openMemory(): MinimumStore {
  const rows = new Map<string, { content: string; owner: string; leaseUntilMs: number; kept?: Kept }>();
  return {
    async claim({ id, content, owner }) {
      const row = rows.get(id);
      if (row !== undefined && (row.kept !== undefined || row.leaseUntilMs > Date.now() || row.content !== content))
        return row;
      rows.set(id, { content, owner, leaseUntilMs: Date.now() + leaseMs });
      return undefined;
    },
    async complete({ id, owner }, kept) {
      const row = rows.get(id);
      if (row?.owner !== owner) return false;
      row.kept = kept;
      return true;
    },
  };
}
