/** Records of Redis with fields that are gone, cut or changed. */
import { Redis } from "ioredis";
import { redisStore } from "../../packages/ichido/src/stores/redis/index.ts";
import { namesFor } from "../../packages/ichido/src/stores/redis/names.ts";
import { fields } from "../../packages/ichido/src/stores/redis/row.ts";
import { uniqueName } from "../support/unique-name.ts";
import { tryDamage, type Column, type Rows } from "./damaged-rows.ts";
import type { Target } from "./target.ts";

function openRows(url: string): Rows {
  const prefix = `${uniqueName("fuzz")}:`;
  const names = namesFor(prefix, "");
  const client = new Redis(url);
  client.on("error", () => undefined);
  const store = redisStore(client, { prefix });
  const columns = [...fields, "b"];
  const written = new Set<string>();
  return {
    store,
    columns,
    async read({ identity }) {
      const name = names.record(identity);
      written.add(name);
      const values = await client.hmgetBuffer(name, ...columns);
      return Object.fromEntries(columns.map((column, at) => [column, values[at] ?? null]));
    },
    async write({ identity }, row) {
      const name = names.record(identity);
      const gone = Object.keys(row).filter((column) => row[column] === null);
      const there = Object.entries(row).flatMap(([column, value]) => {
        if (value === null) return [];
        return [column, value instanceof Uint8Array ? Buffer.from(value) : String(value)];
      });
      const changes = client.multi();
      if (gone.length > 0) changes.hdel(name, ...gone);
      if (there.length > 0) changes.hset(name, ...there);
      await changes.exec();
    },
    // Whatever Lua reads as a number, infinity among them, is a lease, and one far ahead has lapsed.
    isDecision: (column, value) =>
      (column === "s" && ["p", "c", "f"].includes(textOf(value))) || (column === "l" && value !== null),
    kindOf: (row) => /^\w+/.exec(textOf(row["r"] ?? ""))?.[0] ?? "",
    async close() {
      await store.close();
      if (written.size > 0) await client.del(...written);
      client.disconnect();
    },
  };
}

function textOf(value: Column): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
}

export const damagedRedis: Target = {
  name: "damaged-redis",
  promise: "S7 a damaged record of Redis is an error or what it says, never a second run or somebody else's answer",
  inputs: 1_000,
  needs: "redis",
  open: (url) => tryDamage(openRows(url)),
};
