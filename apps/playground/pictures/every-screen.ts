/** Every screen after something happened on it, light, dark, narrow and in Japanese: to be looked at by people. */
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";

const desktop = { width: 1_280, height: 900 };
const phone = { width: 375, height: 760 };

const looks = {
  light: { theme: "light", lang: "en", viewport: desktop },
  dark: { theme: "dark", lang: "en", viewport: desktop },
  narrow: { theme: "light", lang: "en", viewport: phone },
  ja: { theme: "light", lang: "ja", viewport: desktop },
  "ja-narrow": { theme: "dark", lang: "ja", viewport: phone },
} as const;

const screens: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  pay: async (page) => {
    for (const lane of ["unprotected", "protected"]) await page.locator(`[data-pay=${lane}]`).dblclick();
    await page.locator(".protected [data-charges='1']").waitFor();
    await page.locator("[data-saw=protected]", { hasText: "·" }).waitFor();
  },
  faults: async (page) => {
    await page.locator("[data-run-fault]").click();
    await page.locator("[data-verdict]").waitFor();
    await page.locator(".lane-story summary").last().click();
    await page
      .locator(".happened button", { hasText: /^complete/ })
      .last()
      .click();
    await page.locator("[data-raw=row]").waitFor();
  },
  events: async (page) => {
    await page.locator("[data-order]").click();
    await page.locator("[data-deliver]:enabled").click();
    await page.locator("[data-mails='6']").waitFor();
  },
  storm: async (page) => {
    await page.locator("[data-start-storm]:enabled").click();
    await page.locator("[data-storm=done]").waitFor();
  },
  storage: async (page) => {
    await page.locator("[data-sweep]").click();
    await page.locator("[data-swept]").waitFor();
  },
  drill: async (page) => {
    await page.locator("[data-ticket]").click();
    await page.locator("[data-answer=bought-twice]").click();
    await page.locator("[data-judged]").waitFor();
  },
  limits: async (page) => {
    await page.locator("[data-limit=key-per-click] button").click();
    await page.locator("[data-limit=key-per-click] [data-charges]").first().waitFor();
    const redis = page.locator("[data-limit=redis-evicts] button");
    if (await redis.isEnabled()) {
      await redis.click();
      await page.locator("[data-doctor]").first().waitFor();
    }
  },
  home: async () => undefined,
};

const PATIENCE_MS = 120_000;

export async function takeEveryScreen(browser: Browser, url: string, folder: string): Promise<void> {
  for (const [name, act] of Object.entries(screens)) {
    const page = await browser.newPage({ viewport: desktop, reducedMotion: "reduce" });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(`${url}/?theme=light&lang=en&zone=utc#/${name}`);
    await act(page);
    for (const [look, { theme, lang, viewport }] of Object.entries(looks)) {
      await page.setViewportSize(viewport);
      const [themes, langs] = await page.locator(".switches select").all();
      await themes?.selectOption(theme);
      await langs?.selectOption(lang);
      await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: true });
    }
    await page.close();
    console.log(name);
  }
}
