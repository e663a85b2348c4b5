/** Pays under a fault of the deck as the page does: the same controls, the same buyer, over real sockets. */
import { setTimeout as sleep } from "node:timers/promises";
import { memoryStorage } from "ichido/client";
import { pay, type BuyerParts, type Cart, type Said } from "../src/playground/buyer.ts";
import { lanes, type FaultName, type LaneName, type RunView, type StateView } from "../src/playground/contract.ts";

export interface Driven {
  readonly view: RunView;
  readonly said: readonly Said[];
}

const QUIET_MS = 30_000;
const LOOK_MS = 20;

export async function call<Answer>(base: string, path: string, body?: object): Promise<Answer> {
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`${base}/playground/api/${path}`, body === undefined ? {} : sent);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}

/** The lanes one after the other: what is armed at the bank is for the next order, whoever gives it. */
export async function driveFault(base: string, fault: FaultName): Promise<Driven> {
  const cart = await call<Cart>(base, "runs", { fault });
  const { processes } = await call<StateView>(base, "state");
  const said: Said[] = [];
  for (const lane of lanes) {
    const baseUrl = processes.find(({ name }) => name === lane)?.proxyUrl ?? "";
    await call(base, `runs/${cart.run}/arm`, { lane });
    said.push(...(await buy(base, lane, fault, cart, { baseUrl, storage: memoryStorage() })));
    await quiet(base, cart.run);
    await call(base, `runs/${cart.run}/disarm`, { lane });
  }
  return { view: await call<RunView>(base, `runs/${cart.run}`), said };
}

async function buy(
  base: string,
  lane: LaneName,
  fault: FaultName,
  { run, orderId, amount, currency }: Cart,
  parts: BuyerParts,
): Promise<readonly Said[]> {
  const cart = { run, orderId, amount, currency };
  // Tabs share their storage; the two clicks of one tab do, too.
  if (fault === "double-click" || fault === "two-tabs") {
    return Promise.all([pay(lane, cart, parts), pay(lane, cart, parts)]);
  }
  if (fault === "reload") {
    const page = new AbortController();
    const left = pay(lane, cart, { ...parts, signal: page.signal });
    await until(async () => arrivals(await call<RunView>(base, `runs/${run}`), lane) > 0);
    page.abort();
    await left;
    await until(async () =>
      (await call<RunView>(base, `runs/${run}`)).events.some((event) => event.lane === lane && event.what === "left"),
    );
  }
  return [await pay(lane, cart, parts)];
}

function arrivals(view: RunView, lane: LaneName): number {
  return view.lanes[lane].proxyArrivals;
}

/** Nothing of it is under way any more: only then is it counted. */
async function quiet(base: string, run: string): Promise<void> {
  await until(async () => (await call<RunView>(base, `runs/${run}`)).inFlight === 0);
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + QUIET_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${QUIET_MS} ms`);
    await sleep(LOOK_MS);
  }
}
