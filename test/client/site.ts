/** A shop's pages and its payments, for a browser; what answers in front of them can be replaced for a cart. */
import express from "express";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { createIchido, type Ichido } from "ichido";
import { captureBody, idempotency } from "ichido/express";
import { memoryStore } from "ichido/memory";
import { bundleForBrowser } from "./bundle.ts";
import { describeInChromium } from "./chromium.ts";

export interface Site {
  readonly url: string;
  /** The same service on another origin, which allows requests and exposes no header. */
  readonly otherUrl: string;
  readonly effects: (cart: string) => number;
  readonly requests: (cart: string) => number;
  readonly keys: (cart: string) => ReadonlySet<string>;
  /** Handlers of that cart wait for it to be called. */
  hold(cart: string): () => void;
  /** Handlers of that cart take so long. */
  takes(cart: string, ms: number): void;
  /** The next answer of that cart is made and recorded, and does not arrive. */
  loseAnswer(cart: string): void;
  /** Somebody else answers in the service's place until the result is called. */
  front(cart: string, stranger: (res: express.Response) => void): () => void;
  close(): Promise<void>;
}

export async function createSite(): Promise<Site> {
  const entry = (name: string): Promise<string> =>
    bundleForBrowser(fileURLToPath(new URL(`pages/${name}.ts`, import.meta.url)));
  const scripts = { "plain-page": await entry("plain-page"), "react-page": await entry("react-page") };
  const effects: string[] = [];
  const keys: (readonly [cart: string, key: string])[] = [];
  const holds = new Map<string, Promise<void>>();
  const workMs = new Map<string, number>();
  const lost = new Set<string>();
  const strangers = new Map<string, (res: express.Response) => void>();
  const ichido: Ichido<express.Request> = createIchido({
    store: memoryStore(),
    scope: () => ({ tenant: "t" }),
    onUnknown: "rerun",
    sweepMs: "off",
  });
  const app = express();
  const cartOf = (req: express.Request): string => new URL(req.url, "http://site").searchParams.get("cart") ?? "";
  for (const [name, script] of Object.entries(scripts)) {
    app.get(`/${name}.js`, (_req, res) => void res.type("text/javascript").send(script));
    app.get(`/${name}`, (_req, res) => {
      const body = '<div id="root"></div><button id="pay">Pay</button><p id="outcome"></p>';
      const inner = name === "plain-page" ? body : '<div id="root"></div>';
      res
        .type("html")
        .send(`<!doctype html><title>Checkout</title><body>${inner}<script type="module" src="/${name}.js"></script>`);
    });
  }
  app.get("/login", (_req, res) => void res.type("html").send("<!doctype html><title>Log in</title>"));
  app.use((req, res, next) => {
    res.set({ "access-control-allow-origin": "*", "access-control-allow-headers": "idempotency-key, content-type" });
    if (req.method === "OPTIONS") res.status(204).end();
    else next();
  });
  app.post(["/payments", "/polled"], (req, res, next) => {
    const cart = cartOf(req);
    keys.push([cart, req.get("idempotency-key") ?? ""]);
    const stranger = strangers.get(cart);
    if (stranger === undefined) next();
    else stranger(res);
  });
  app.use(captureBody(), express.json());
  const pay = async (req: express.Request, res: express.Response): Promise<void> => {
    const cart = cartOf(req);
    effects.push(cart);
    await holds.get(cart);
    await sleep(workMs.get(cart) ?? 0);
    if (lost.delete(cart)) req.socket.destroy();
    res.status(201).json({ id: effects.length });
  };
  app.post("/payments", idempotency(ichido, { operation: "payment.create" }), pay);
  app.post(
    "/polled",
    idempotency(ichido, { operation: "payment.polled", profile: "polling", statusUrl: (id) => `/operations/${id}` }),
    pay,
  );
  const listen = (): Promise<Server> =>
    new Promise((resolve) => {
      const listening = app.listen(0, "127.0.0.1", () => resolve(listening));
    });
  const servers = [await listen(), await listen()] as const;
  const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: urlOf(servers[0]),
    otherUrl: urlOf(servers[1]),
    effects: (cart) => effects.filter((each) => each === cart).length,
    requests: (cart) => keys.filter(([each]) => each === cart).length,
    keys: (cart) => new Set(keys.filter(([each]) => each === cart).map(([, key]) => key)),
    hold(cart) {
      const { promise, resolve } = Promise.withResolvers<void>();
      holds.set(cart, promise);
      return () => {
        holds.delete(cart);
        resolve();
      };
    },
    takes: (cart, ms) => void workMs.set(cart, ms),
    loseAnswer: (cart) => void lost.add(cart),
    front(cart, stranger) {
      strangers.set(cart, stranger);
      return () => void strangers.delete(cart);
    },
    async close() {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
      await ichido.close();
    },
  };
}

export type PageKind = "plain" | "react";

export async function ready(kind: PageKind, page: Page): Promise<void> {
  await page.waitForSelector(kind === "plain" ? "body[data-ready]" : "#status");
}

/** Waits until the page shows that outcome. */
export async function shows(kind: PageKind, page: Page, outcome: string): Promise<void> {
  const place = kind === "plain" ? "#outcome" : "#status";
  await page.waitForFunction(`document.querySelector("${place}").textContent.includes("${outcome}")`);
}

/** For one wait in a page on a busy machine. */
const waitMs = 15_000;

export async function openPage(
  context: BrowserContext,
  site: Site,
  kind: PageKind,
  asked: Readonly<Record<string, string>>,
): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(waitMs);
  await page.goto(`${site.url}/${kind}-page?${new URLSearchParams(asked).toString()}`);
  await ready(kind, page);
  return page;
}

/** There from the first hook of the suite on. */
export interface Rig {
  readonly site: Site;
  readonly browser: Browser;
}

export function describeOnSite(title: string, suite: (rig: Rig) => void): void {
  describeInChromium(title, (launch) => {
    const rig: { -readonly [Part in keyof Rig]?: Rig[Part] } = {};
    beforeAll(async () => {
      [rig.site, rig.browser] = await Promise.all([createSite(), launch()]);
    }, 60_000);
    afterAll(async () => {
      await rig.browser?.close();
      await rig.site?.close();
    });
    suite(rig as Rig);
  });
}
