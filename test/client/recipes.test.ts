/** Other clients over the drop-in fetch, as the guide shows them. */
import axios from "axios";
import ky from "ky";
import { describe, expect, it } from "vitest";
import { createFetch, memoryStorage, UnknownOutcomeError, type Attempt, type IdempotentFetch } from "ichido/client";
import { bench, order, type Bench } from "./payment-bench.ts";

type Post = (send: IdempotentFetch, url: string, attempt: Attempt) => Promise<{ readonly id: number }>;

const recipes: Readonly<Record<string, Post>> = {
  async ky(send, url, attempt) {
    const fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
      send(input, { ...init, attempt });
    return ky.post(url, { json: order, fetch, retry: 0, timeout: false }).json();
  },
  async axios(send, url, attempt) {
    const fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
      send(input, { ...init, attempt });
    return (await axios.post<{ readonly id: number }>(url, order, { adapter: "fetch", env: { fetch } })).data;
  },
};

const sending = (all: Bench): { readonly send: IdempotentFetch; readonly url: string } => ({
  send: createFetch({
    storage: memoryStorage(),
    retry: { backoffMs: 10, backoffMsMax: 50, callTimeoutMs: 2_000, triesMax: 4 },
  }),
  url: new URL("/payments", all.proxy.url).href,
});

describe.each(Object.entries(recipes))("%s over createFetch", (_, post) => {
  it("a lost answer is asked for again under the same key, and a later call gets it too", async () => {
    const all = await bench();
    const { send, url } = sending(all);
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    const attempt = await send.attempts.create("pay:b-1", order);
    expect(await post(send, url, attempt)).toMatchObject({ id: 1 });
    expect(await post(send, url, await send.attempts.create("pay:b-1", order))).toMatchObject({ id: 1 });
    expect(all.effects()).toBe(1);
    expect(new Set(all.keys).size).toBe(1);
    expect(all.keys[0]).toContain(attempt.key);
  });

  it("an outcome that is not known can be told from an error", async () => {
    const all = await bench();
    const { send, url } = sending(all);
    all.always.push((res) => void res.socket?.destroy());
    const attempt = await send.attempts.create("pay:b-1", order);
    const error: unknown = await post(send, url, attempt).catch((reason: unknown) => reason);
    const causes = [error, (error as Error).cause];
    expect(
      causes.some((each) => each instanceof UnknownOutcomeError),
      String(error),
    ).toBe(true);
  });
});
