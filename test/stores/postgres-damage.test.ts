/** A row that holds what no statement writes: never taken for one that may run, and a trouble of its own caller alone. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sampleResponse } from "ichido/testing";
import { describeWith } from "../support/services.ts";
import { grant, openLife, request, type Life } from "./postgres-life.ts";

describeWith("postgres", "postgres store and rows that were damaged", (serverUrl) => {
  let life: Life;
  beforeAll(async () => {
    life = await openLife(serverUrl);
  });
  afterAll(() => life.end());

  const damages = { state: "closed", response_kind: "ful", response_headers: "[[" } as const;
  for (const [column, value] of Object.entries(damages)) {
    test(`S7 a completed row with a damaged ${column} is not run again, and harms nobody who asks beside it`, async () => {
      const { store, pool } = life;
      const [damaged, sound] = [request(`damaged ${column}`, "a"), request(`sound ${column}`, "b")];
      for (const each of [damaged, sound])
        await store.complete({ ...(await grant(store, each)), response: sampleResponse() });
      await pool.query(`UPDATE ichido_records SET ${column} = $1 WHERE key = $2`, [value, damaged.identity.key]);
      const again = [damaged, sound, request(`fresh ${column}`, "c")].map((each) => ({
        ...each,
        owner: request("", "d").owner,
      }));
      const [first, second, third] = await Promise.allSettled(again.map((each) => store.claim(each)));
      expect(first).toMatchObject({ status: "rejected", reason: { code: "internal-error" } });
      expect(second).toMatchObject({ value: { outcome: "completed" } });
      expect(third).toMatchObject({ value: { outcome: "granted" } });
      await expect(store.find(damaged.identity)).rejects.toThrow();
    });
  }
});
