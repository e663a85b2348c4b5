import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeEach, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeOnSite, openPage, ready, shows, type PageKind } from "./site.ts";

describeOnSite("in a browser, one effect each", (rig) => {
  let context: BrowserContext;
  const shots = process.env["ICHIDO_SCREENSHOTS"] ?? mkdtempSync(join(tmpdir(), "ichido-shots-"));

  afterAll(() => {
    if (process.env["ICHIDO_SCREENSHOTS"] === undefined) rmSync(shots, { recursive: true, force: true });
  });
  beforeEach(async () => {
    context = await rig.browser.newContext({ viewport: { width: 480, height: 360 } });
  });
  afterEach(() => context.close());

  let carts = 0;
  const newCart = (): string => `c${(carts += 1)}`;
  const open = (kind: PageKind, cart: string, storage = "tab"): Promise<Page> =>
    openPage(context, rig.site, kind, { cart, storage });
  const shoot = (page: Page, name: string): Promise<unknown> => page.screenshot({ path: join(shots, `${name}.png`) });

  const paid = (kind: PageKind, page: Page): Promise<void> => shows(kind, page, "done");
  const oneEffect = (cart: string): void => {
    expect(rig.site.effects(cart)).toBe(1);
    expect(rig.site.keys(cart).size).toBe(1);
  };

  for (const kind of ["plain", "react"] as const) {
    it(`${kind}: a double click`, async () => {
      const cart = newCart();
      const page = await open(kind, cart);
      await page.dblclick("#pay");
      await paid(kind, page);
      oneEffect(cart);
      await shoot(page, `${kind}-double-click`);
    });

    it(`${kind}: clicks in one and the same task, and late ones`, async () => {
      const cart = newCart();
      const page = await open(kind, cart);
      await page.evaluate('for (let at = 0; at < 5; at += 1) document.querySelector("#pay").click()');
      await paid(kind, page);
      await page.click("#pay");
      await page.click("#pay");
      await eventually(() => oneEffect(cart));
      // The hook's lock is taken before React renders again, and done stays done.
      if (kind === "react") expect(rig.site.requests(cart)).toBe(1);
    });

    it(`${kind}: two tabs at once, and a third that is late`, async () => {
      const cart = newCart();
      const pages = [
        await open(kind, cart, "browser"),
        await open(kind, cart, "browser"),
        await open(kind, cart, "browser"),
      ];
      const [one, other, late] = pages as [Page, Page, Page];
      const release = rig.site.hold(cart);
      await Promise.all([one.click("#pay"), other.click("#pay")]);
      await eventually(() => expect(rig.site.effects(cart)).toBe(1));
      release();
      await Promise.all([paid(kind, one), paid(kind, other)]);
      await late.click("#pay");
      await paid(kind, late);
      oneEffect(cart);
    });

    it(`${kind}: a reload in mid-request`, async () => {
      const cart = newCart();
      const page = await open(kind, cart);
      const release = rig.site.hold(cart);
      await page.click("#pay");
      await eventually(() => expect(rig.site.effects(cart)).toBe(1));
      await page.reload();
      await ready(kind, page);
      if (kind === "react") {
        await page.waitForFunction('document.querySelector("#status").textContent === "unknown"');
        await shoot(page, "react-after-reload");
      } else expect(await page.getAttribute("body", "data-ready")).toBe("resumed");
      await page.click("#pay");
      release();
      await paid(kind, page);
      oneEffect(cart);
    });

    it(`${kind}: offline, then online`, async () => {
      const cart = newCart();
      const page = await open(kind, cart);
      await context.setOffline(true);
      await page.click("#pay");
      if (kind === "react") {
        await page.waitForFunction('document.querySelector("#status").textContent === "retrying"');
        await shoot(page, "react-offline");
      }
      expect(rig.site.effects(cart)).toBe(0);
      await context.setOffline(false);
      await paid(kind, page);
      oneEffect(cart);
    });

    it(`${kind}: the line goes while the answer is on its way`, async () => {
      const cart = newCart();
      const page = await open(kind, cart);
      const release = rig.site.hold(cart);
      await page.click("#pay");
      await eventually(() => expect(rig.site.effects(cart)).toBe(1));
      await context.setOffline(true);
      release();
      await context.setOffline(false);
      await paid(kind, page);
      oneEffect(cart);
    });
  }

  it("react: another amount after an unknown outcome is refused until the person starts over", async () => {
    const cart = newCart();
    const page = await open("react", cart);
    const release = rig.site.hold(cart);
    await page.click("#pay");
    await eventually(() => expect(rig.site.effects(cart)).toBe(1));
    await page.reload();
    await page.waitForFunction('document.querySelector("#status").textContent === "unknown"');
    await page.click("#more");
    await page.waitForFunction('document.querySelector("#error").textContent.includes("startOver")');
    await page.click("#pay");
    expect(rig.site.keys(cart).size).toBe(1);
    await shoot(page, "react-changed");
    await page.click("#over");
    await page.waitForFunction('document.querySelector("#status").textContent === "idle"');
    release();
    await page.click("#pay");
    await paid("react", page);
    expect(rig.site.keys(cart).size).toBe(2);
  });

  it("react: done stays done until the person starts over; then it is a new intent", async () => {
    const cart = newCart();
    const page = await open("react", cart);
    await page.click("#pay");
    await paid("react", page);
    expect(await page.textContent("#seen")).toBe("idle sending done");
    await page.click("#over");
    await page.waitForFunction('document.querySelector("#status").textContent === "idle"');
    await page.click("#pay");
    await paid("react", page);
    expect(rig.site.effects(cart)).toBe(2);
    expect(rig.site.keys(cart).size).toBe(2);
  });

  it("react: paid stays paid after a reload, and a press only asks for the answer again", async () => {
    const cart = newCart();
    const page = await open("react", cart);
    await page.click("#pay");
    await paid("react", page);
    await page.reload();
    await paid("react", page);
    expect(await page.textContent("#result")).toBe("");
    expect(rig.site.requests(cart)).toBe(1);
    await page.click("#pay");
    await page.waitForFunction('document.querySelector("#result").textContent === "done replayed"');
    oneEffect(cart);
  });

  it("react: a payment that ends while its button is not on the screen is paid when it is back", async () => {
    const cart = newCart();
    const page = await open("react", cart);
    const release = rig.site.hold(cart);
    await page.click("#pay");
    await eventually(() => expect(rig.site.effects(cart)).toBe(1));
    await page.click("#away");
    const answered = page.waitForResponse((response) => response.request().method() === "POST");
    release();
    await answered;
    await page.waitForFunction("Object.values(sessionStorage).some((item) => item.includes('\"done\":true'))");
    await page.click("#away");
    await paid("react", page);
    await page.click("#pay");
    await page.waitForFunction('document.querySelector("#result").textContent === "done replayed"');
    oneEffect(cart);
  });

  it("react: an amount that is changed in flight is not shown as paid, and is an intent of its own", async () => {
    const cart = newCart();
    const page = await open("react", cart);
    const release = rig.site.hold(cart);
    await page.click("#pay");
    await eventually(() => expect(rig.site.effects(cart)).toBe(1));
    await page.click("#more");
    await page.waitForFunction('document.querySelector("#error").textContent.includes("startOver")');
    release();
    await page.waitForFunction('document.querySelector("#status").textContent === "idle"');
    expect(await page.textContent("#error")).toBe("");
    expect(await page.textContent("#seen")).not.toContain("done");
    await page.click("#pay");
    await paid("react", page);
    expect([rig.site.effects(cart), rig.site.keys(cart).size]).toEqual([2, 2]);
  });

  it("react: the field keeps its key over renders and changes it when the intent is over", async () => {
    const page = await open("react", newCart());
    const key = (): Promise<unknown> =>
      page.evaluate('new FormData(document.querySelector("#form")).get("idempotencyKey")');
    const first = await key();
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    await page.click("#more");
    expect(await key()).toBe(first);
    await page.click("#next");
    await eventually(async () => expect(await key()).not.toBe(first));
    expect(await key()).toMatch(/^[0-9a-f-]{36}$/);
  });
});
