/** In a real browser: answers of others, and headers that another origin does not show. */
import type express from "express";
import type { BrowserContext, Page } from "playwright-core";
import { afterEach, beforeEach, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeOnSite, openPage, ready, shows } from "./site.ts";

const page404 = "<!doctype html><title>404 Not Found</title>";
type Stranger = (res: express.Response) => void;
const strangers: readonly (readonly [title: string, stranger: Stranger])[] = [
  ["a redirect to a login page", (res) => res.redirect(302, "/login")],
  ["a gateway's 404 in HTML", (res) => void res.status(404).type("html").send(page404)],
  ["a gateway's 502 in HTML", (res) => void res.status(502).type("html").send(page404)],
  ["a gateway's 404 in JSON", (res) => void res.status(404).json({ message: "no route matched" })],
];

describeOnSite("in a browser, what the service did not say", (rig) => {
  let context: BrowserContext;
  beforeEach(async () => {
    context = await rig.browser.newContext();
  });
  afterEach(() => context.close());

  let carts = 0;
  const origins = ["the same origin", "another origin, which exposes no header"] as const;
  const open = (cart: string, origin: (typeof origins)[number], path = "/payments"): Promise<Page> =>
    openPage(context, rig.site, "plain", { cart, path, api: origin === origins[0] ? rig.site.url : rig.site.otherUrl });
  const outcome = (page: Page): Promise<string | null> => page.textContent("#outcome");

  for (const origin of origins) {
    it.each(strangers)(`${origin}: %s after a lost answer is not done, and keeps the key`, async (_, stranger) => {
      const cart = `s${(carts += 1)}`;
      const page = await open(cart, origin);
      const release = rig.site.hold(cart);
      await page.click("#pay");
      await eventually(() => expect(rig.site.effects(cart)).toBe(1));
      const reachable = rig.site.front(cart, stranger);
      rig.site.loseAnswer(cart);
      release();
      // Over a kept connection Chromium sends again by itself: the page then sees one send, and a refusal of it.
      await shows("plain", page, ";");
      expect(await outcome(page)).toMatch(/^(unknown|declined);$/);
      reachable();
      await page.reload();
      await ready("plain", page);
      await page.click("#pay");
      await shows("plain", page, "done");
      expect(await outcome(page)).toBe(origin === origins[0] ? "done (replayed);" : "done;");
      expect([rig.site.effects(cart), rig.site.keys(cart).size]).toEqual([1, 1]);
    });

    it(`${origin}: a login page in place of the first answer is not done either`, async () => {
      const cart = `s${(carts += 1)}`;
      const page = await open(cart, origin);
      const reachable = rig.site.front(cart, (res) => res.redirect(302, "/login"));
      await page.click("#pay");
      await shows("plain", page, "unknown");
      expect(rig.site.effects(cart)).toBe(0);
      reachable();
      await page.click("#pay");
      await shows("plain", page, "done");
      expect([rig.site.effects(cart), rig.site.keys(cart).size]).toEqual([1, 1]);
    });

    it(`${origin}: 202 for a payment that runs is waited for, not taken for done`, async () => {
      const cart = `s${(carts += 1)}`;
      const page = await open(cart, origin, "/polled");
      const release = rig.site.hold(cart);
      const waiting = page.waitForResponse((response) => response.status() === 202);
      await page.click("#pay");
      await eventually(() => expect(rig.site.effects(cart)).toBe(1));
      await page.click("#pay");
      await waiting;
      await eventually(() => expect(rig.site.requests(cart)).toBeGreaterThanOrEqual(3));
      expect(await outcome(page)).toBe("");
      release();
      await page.waitForFunction('document.querySelector("#outcome").textContent.split("done").length === 3');
      expect([rig.site.effects(cart), rig.site.keys(cart).size]).toEqual([1, 1]);
    });
  }
});
