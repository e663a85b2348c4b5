/** The buyer in front of the unprotected lane: a fetch that retries by the same rules, as many apps have one. */
import type { BuyerParts, Cart, Rules, Said } from "./buyer.ts";

export async function payPlainly(
  { run, ...order }: Cart,
  { baseUrl, signal, onTry }: BuyerParts,
  rules: Rules,
): Promise<Said> {
  const startedMs = Date.now();
  let status: number | undefined;
  for (let tries = 1; ; tries += 1) {
    onTry?.(tries);
    try {
      const response = await fetch(`${baseUrl}/payments`, {
        method: "POST",
        headers: { "content-type": "application/json", "playground-run": run },
        body: JSON.stringify(order),
        signal: AbortSignal.any([AbortSignal.timeout(rules.callTimeoutMs), ...(signal === undefined ? [] : [signal])]),
      });
      ({ status } = response);
      await response.text();
      if (status < 500) return { status, paid: status < 300, replayed: false, tries };
    } catch {
      status = undefined;
    }
    const pauseMs = Math.random() * Math.min(rules.backoffMsMax, rules.backoffMs * 2 ** (tries - 1));
    const isLate = Date.now() + pauseMs - startedMs > rules.deadlineMs;
    if (signal?.aborted === true || tries >= rules.triesMax || isLate) {
      return { status, paid: false, replayed: false, tries };
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
