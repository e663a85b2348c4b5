/** A record of which something is gone: never taken for one that was never there. */
import { redisStore } from "ichido/redis";
import { sampleFingerprint, sampleResponse } from "ichido/testing";
import { afterAll, expect, test } from "vitest";
import { namesFor } from "../../packages/ichido/src/stores/redis/names.ts";
import { describeWith, uniqueName } from "../support/services.ts";
import { openClient, removeKeys, type OpenClient } from "./redis-clients.ts";
import { request } from "./redis-load.ts";

describeWith("redis", "redis store and records that were damaged", (url) => {
  const prefix = `${uniqueName("redis-damage")}:`;
  const names = namesFor(prefix, "");
  let client: OpenClient | undefined;

  afterAll(async () => {
    if (client === undefined) return;
    await removeKeys(client, prefix);
    await client.end();
  });

  const damages: readonly (readonly [string, readonly string[]])[] = [
    ["its state", ["HDEL", "s"]],
    ["its state and its owner", ["HDEL", "s", "o"]],
    ["its state, fence and content", ["HDEL", "s", "t", "f"]],
    ["all but its time of expiry", ["HDEL", ..."s o t n l c u f i r b z h x d a".split(" ")]],
    ["its lease", ["HDEL", "l"]],
    ["the meaning of its state", ["HSET", "s", "z"]],
    ["its state to a word that every object has", ["HSET", "s", "constructor"]],
  ];
  for (const [what, [command = "", ...args]] of damages) {
    for (const state of ["processing", "completed"] as const) {
      test(`S7 a ${state} record that lost ${what} is not run again`, async () => {
        client ??= await openClient("ioredis", url);
        const store = redisStore(client.client, { prefix });
        const first = request(`${what} ${state}`);
        const claimed = await store.claim(first);
        if (claimed.outcome !== "granted") expect.fail(claimed.outcome);
        const { identity, owner } = first;
        const response = sampleResponse();
        if (state === "completed") await store.complete({ identity, owner, fence: claimed.fence, response });
        await client.send(command, names.record(identity), ...args);
        const again = store.claim({ ...first, owner: request("next").owner });
        const outcome = await again.then(
          (result) => result.outcome,
          () => "refused",
        );
        expect(["refused", state]).toContain(outcome);
        const found = await store.find(identity).then(
          (record) => (record === undefined ? "absent" : "there"),
          () => "refused",
        );
        expect(found).not.toBe("absent");
      });
    }
  }

  const cuts: readonly (readonly [string, readonly string[]])[] = [
    ["hashes", ["HSET", "f", "x".repeat(32)]],
    ["all hashes", ["HSET", "f", ""]],
    ["body", ["HSET", "b", "{"]],
    ["whole body", ["HDEL", "b"]],
    ["kind of answer", ["HSET", "r", "ful 201 []"]],
    ["status", ["HSET", "r", "full  []"]],
    ["lines", ["HSET", "r", "full 201 [["]],
  ];
  for (const [what, [command = "", ...args]] of cuts) {
    test(`S3 S7 a record whose ${what} was cut is damage, for the same content and for other`, async () => {
      client ??= await openClient("ioredis", url);
      const store = redisStore(client.client, { prefix });
      const first = request(`cut ${what}`);
      const claimed = await store.claim(first);
      if (claimed.outcome !== "granted") expect.fail(claimed.outcome);
      await store.complete({ ...first, fence: claimed.fence, response: sampleResponse() });
      await client.send(command, names.record(first.identity), ...args);
      for (const fingerprint of [first.fingerprint, sampleFingerprint("other")]) {
        const again = await store.claim({ ...first, fingerprint }).then(
          ({ outcome }) => outcome,
          (error: unknown) => (error as { code?: unknown }).code ?? (error as Error).name,
        );
        const isOther = fingerprint !== first.fingerprint && again === "mismatch";
        expect(isOther || again === "internal-error" || again === "TypeError").toBe(true);
      }
    });
  }
});
