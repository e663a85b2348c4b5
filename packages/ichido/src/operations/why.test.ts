import { describe, expect, it } from "vitest";
import { createIchido } from "../core/engine/create-ichido.ts";
import { memoryStore } from "../stores/memory/index.ts";
import { why } from "./why.ts";

const scope = { principal: "p" };

describe("why", () => {
  it("says that the provider could not be asked where an id is known to nobody else", async () => {
    const store = memoryStore();
    const engine = createIchido({ store, scope: () => scope, onUnknown: "hold", sweepMs: "off" });
    const lost = (): never => {
      throw new Error("no answer");
    };
    await engine
      .run({ operation: "pay", scope, key: "stuck-key-0001" }, (ctx) => ctx.step("bank.charge", lost))
      .catch(() => undefined);
    const down = { "bank.charge": () => Promise.reject(new Error("the bank is down")) };
    const verdict = await why({ ichido: { store, probes: down } }, { text: "ch_unheard_of" });
    expect(verdict).toMatchObject({ verdict: "nothing-found", confidence: "low" });
    expect(verdict.missing).toEqual(["the provider could not be asked: bank.charge: the bank is down"]);
    const up = { "bank.charge": () => [{ id: "ch_unheard_of" }] };
    expect(await why({ ichido: { store, probes: up } }, { text: "ch_unheard_of" })).toMatchObject({
      understood: ["provider's id"],
      keys: [{ key: "stuck-key-0001" }],
    });
    await engine.close();
  });
});
