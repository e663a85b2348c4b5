/** A real second tab of this page, which pays the same cart at the same moment. */
import type { Cart } from "../../shop/src/playground/buyer.ts";
import type { LaneName } from "../../shop/src/playground/contract.ts";
import { api } from "./api.ts";

type Message =
  | { readonly kind: "ready" | "done"; readonly run: string }
  | { readonly kind: "go"; readonly run: string; readonly lane: LaneName; readonly cart: Cart };

const CHANNEL = "playground.tabs";
const READY_MS = 10_000;

export class TabRefused extends Error {}

const opened = new Map<string, Window>();

async function heard(channel: BroadcastChannel, kind: Message["kind"], run: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const limit = setTimeout(() => reject(new TabRefused()), READY_MS);
    channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
      if (data.kind !== kind || data.run !== run) return;
      clearTimeout(limit);
      resolve();
    });
  });
}

export async function withSecondTab(cart: Cart, lane: LaneName, here: () => Promise<unknown>): Promise<void> {
  const channel = new BroadcastChannel(CHANNEL);
  try {
    if (!opened.has(cart.run)) {
      const ready = heard(channel, "ready", cart.run);
      const tab = window.open(`/#/tab?run=${cart.run}`, "_blank");
      if (tab === null) throw new TabRefused();
      opened.set(cart.run, tab);
      await ready;
    }
    const done = heard(channel, "done", cart.run);
    channel.postMessage({ kind: "go", run: cart.run, lane, cart } satisfies Message);
    await Promise.all([here(), done]);
  } finally {
    channel.close();
  }
}

/** It has paid in every lane that was chosen. */
export function closeSecondTab(run: string): void {
  opened.get(run)?.close();
  opened.delete(run);
}

/** In the second tab. */
export function beSecondTab(run: string, pay: (lane: LaneName, cart: Cart) => Promise<unknown>): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if (data.kind !== "go" || data.run !== run) return;
    void api.note(run, { lane: data.lane, what: "tab" });
    void pay(data.lane, data.cart).finally(() => channel.postMessage({ kind: "done", run }));
  });
  channel.postMessage({ kind: "ready", run } satisfies Message);
  return () => channel.close();
}
