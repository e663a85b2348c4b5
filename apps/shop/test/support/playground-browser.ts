/** The playground's page in a browser, on a shop of its own; whatever a page complains of fails the file. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { describeInChromium } from "../../../../test/client/chromium.ts";
import { newFolder } from "./program.ts";
import { startShop, type Shop } from "./shop.ts";
import { call } from "../../playground-faults/drive.ts";

const desktop = { width: 1_280, height: 900 };
export const phone = { width: 375, height: 760 };
/** What the faults do to the browser's own requests: it says so by itself, and no page can keep it from that. */
const onPurpose = /ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|status of (409|50[23])/;

export interface PlaygroundBrowser {
  readonly shop: Shop;
  readonly browser: Browser;
  open(
    place: string,
    look?: { readonly lang?: string; readonly theme?: string; readonly viewport?: typeof desktop },
  ): Promise<Page>;
}

/** What the page shows of the bank, lane by lane. */
export async function chargesOn(page: Page): Promise<readonly number[]> {
  const shown = await page.locator("[data-charges]").all();
  return Promise.all(shown.map(async (each) => Number(await each.getAttribute("data-charges"))));
}

export function describePlaygroundPage(title: string, tests: (rig: () => PlaygroundBrowser) => void): void {
  describeInChromium(title, (launch) => {
    let shop: Shop;
    let browser: Browser;
    const complaints: string[] = [];
    beforeAll(async () => {
      [browser, shop] = await Promise.all([launch(), startShop({ SHOP_DATA: newFolder() })]);
      await call(shop.url, "start", {});
    });
    afterAll(async () => {
      await browser?.close();
      expect(complaints).toEqual([]);
    });
    const watch = (page: Page): void => {
      page.setDefaultTimeout(20_000);
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type()) && !onPurpose.test(message.text())) {
          complaints.push(message.text());
        }
      });
      page.on("pageerror", (error) => void complaints.push(String(error)));
      page.on("request", (request) => {
        if (!request.url().startsWith(shop.url)) complaints.push(`asked elsewhere: ${request.url()}`);
      });
    };
    const open: PlaygroundBrowser["open"] = async (place, look = {}) => {
      const { lang = "en", theme = "light", viewport = desktop } = look;
      const context: BrowserContext = await browser.newContext({ viewport, reducedMotion: "reduce" });
      context.on("page", watch);
      const page = await context.newPage();
      await page.goto(`${shop.url}/?theme=${theme}&lang=${lang}&zone=utc#/${place}`);
      await page.locator("#main h1").waitFor();
      return page;
    };
    tests(() => ({ shop, browser, open }));
  });
}
