import * as React from "react";
import { renderToString } from "react-dom/server";
import { dehydrate, hydrate, MutationObserver, onlineManager, QueryClient } from "@tanstack/react-query";
import { afterEach, describe, expect, it } from "vitest";
import { createClient, memoryStorage, type Client } from "ichido/client";
import { attemptMutation, fromReact, type AttemptMutation, type IdempotencyFieldProps } from "ichido/react";
import { bench, order } from "./payment-bench.ts";

const { IdempotencyField } = fromReact(React);

afterEach(() => onlineManager.setOnline(true));

describe("the field of a form", () => {
  it("is hidden and named, and on the server has the key that it is given, or none", () => {
    const render = (props: IdempotencyFieldProps): string =>
      renderToString(React.createElement(IdempotencyField, props));
    expect(render({})).toBe('<input type="hidden" name="idempotencyKey"/>');
    expect(render({ defaultValue: "k-1" })).toBe('<input type="hidden" name="idempotencyKey" value="k-1"/>');
    expect(render({ name: "k", value: "my-key" })).toBe('<input type="hidden" name="k" value="my-key"/>');
    expect(render({ value: "my-key", defaultValue: "k-1" })).toContain('value="my-key"');
  });
});

describe("mutations of TanStack Query", () => {
  const paying = (client: Client): AttemptMutation<typeof order> =>
    attemptMutation({
      client,
      mutationKey: ["pay"],
      name: (cart: typeof order) => `pay:${cart.bookingId}`,
      send: (cart, attempt) => client.post("/payments", { attempt, json: cart }),
    });

  it("carry the key in their variables and give the result as a value", async () => {
    const all = await bench();
    const pay = paying(all.client);
    const variables = await pay.variables(order);
    const observer = new MutationObserver(new QueryClient(), pay.options);
    expect(await observer.mutate(variables)).toMatchObject({ kind: "done", key: variables.attempt.key });
    expect(all.keys).toEqual([variables.attempt.key]);
  });

  it("paused offline, persisted and restored in another process of the app: same key, one effect", async () => {
    const all = await bench();
    const before = new QueryClient();
    const pay = paying(all.client);
    // The request arrives, its answer does not: the restored mutation must find it, not repeat it.
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    const variables = await pay.variables(order);
    expect(
      await all.make({ retry: { triesMax: 1 } }).post("/payments", { attempt: variables.attempt, json: order }),
    ).toMatchObject({
      kind: "unknown",
    });
    onlineManager.setOnline(false);
    void new MutationObserver(before, pay.options).mutate(variables);
    const saved = JSON.stringify(dehydrate(before, { shouldDehydrateMutation: () => true }));
    before.clear();

    const after = new QueryClient();
    const restored = paying(createClient({ baseUrl: all.proxy.url, storage: memoryStorage() }));
    after.setMutationDefaults(restored.options.mutationKey, restored.options);
    hydrate(after, JSON.parse(saved));
    onlineManager.setOnline(true);
    await after.resumePausedMutations();
    expect(after.getMutationCache().getAll()[0]?.state.data).toMatchObject({ kind: "done", replayed: true });
    expect(new Set(all.keys)).toEqual(new Set([variables.attempt.key]));
    expect(all.effects()).toBe(1);
  });
});
