/** The buyer in this browser: clicks, reloads, tabs. The fault was armed before; here nobody knows of it. */
import { browserStorage, tabStorage, type AttemptStorage } from "ichido/client";
import { pay, type Cart, type Said } from "../../shop/src/playground/buyer.ts";
import type { FaultName, LaneName } from "../../shop/src/playground/contract.ts";
import { api } from "./api.ts";
import { closeSecondTab, withSecondTab } from "./second-tab.ts";

export const cartOf = ({ run, orderId, amount, currency }: Cart): Cart => ({ run, orderId, amount, currency });

/** One click on Pay, until the buyer knows, or gives up. */
export async function click(lane: LaneName, cart: Cart, storage: AttemptStorage = tabStorage()): Promise<Said> {
  void api.note(cart.run, { lane, what: "click" });
  const said = await pay(lane, cartOf(cart), {
    baseUrl: `/playground/lanes/${lane}`,
    storage,
    onTry: (tries) => void api.note(cart.run, { lane, what: "try", detail: `#${tries}` }),
  });
  const seen = said.status === undefined ? {} : { status: said.status };
  const detail = said.replayed ? { detail: "replayed" } : {};
  await api.note(cart.run, { lane, what: said.paid ? "paid" : "not-paid", ...seen, ...detail });
  return said;
}

const RESUME = "playground.resume";

interface Resume {
  readonly cart: Cart;
  /** The one that was being paid, and those that come after it. */
  readonly lanes: readonly LaneName[];
}

/**
 * Sends the payment and leaves the page once it has arrived at the proxy. The lane answers nobody before that; what follows
 * is for the page that comes.
 */
async function payAndReload(cart: Cart, chosen: readonly LaneName[]): Promise<never> {
  const [lane = "unprotected"] = chosen;
  await api.arm(cart.run, lane);
  sessionStorage.setItem(RESUME, JSON.stringify({ cart, lanes: chosen } satisfies Resume));
  void click(lane, cart).catch(() => undefined);
  while ((await api.run(cart.run)).lanes[lane].proxyArrivals === 0) await new Promise((wake) => setTimeout(wake, 20));
  await api.note(cart.run, { lane, what: "reload" });
  location.reload();
  return new Promise<never>(() => undefined);
}

/** After a reload: the page pays again. Gives the run and the key that was found again, if there was one. */
export async function resume(): Promise<{ readonly run: string; readonly key: string | undefined } | undefined> {
  const kept = sessionStorage.getItem(RESUME);
  if (kept === null) return undefined;
  const { cart, lanes: chosen } = JSON.parse(kept) as Resume;
  const [lane = "unprotected", ...rest] = chosen;
  sessionStorage.removeItem(RESUME);
  const key = keptKey(cart);
  if (key !== undefined) void api.note(cart.run, { lane, what: "key-found", detail: key });
  await click(lane, cart);
  await quiet(cart.run);
  await api.disarm(cart.run, lane);
  if (rest.length > 0) await payAndReload(cart, rest);
  return { run: cart.run, key };
}

/** Where the client keeps an attempt in this tab. The lane without protection has none. */
function keptKey({ orderId }: Cart): string | undefined {
  const kept = sessionStorage.getItem(`ichido:attempt:checkout:${orderId}`);
  return kept === null ? undefined : (JSON.parse(kept) as { readonly key?: string }).key;
}

/** Pays one cart under a fault in the lanes that were chosen, one after the other: the bank's faults are for whoever comes next. */
export async function payUnder(
  fault: FaultName,
  chosen: readonly LaneName[],
  told: (run: string) => void,
): Promise<void> {
  const cart = await api.newRun(fault);
  told(cart.run);
  if (fault === "reload") await payAndReload(cart, chosen);
  for (const lane of chosen) {
    await api.arm(cart.run, lane);
    if (fault === "two-tabs") await withSecondTab(cart, lane, () => click(lane, cart, browserStorage()));
    else await Promise.all(Array.from({ length: fault === "double-click" ? 2 : 1 }, () => click(lane, cart)));
    await quiet(cart.run);
    await api.disarm(cart.run, lane);
  }
  closeSecondTab(cart.run);
}

/** Nothing of it is under way any more. */
async function quiet(run: string): Promise<void> {
  while ((await api.run(run)).inFlight > 0) await new Promise((wake) => setTimeout(wake, 50));
}
