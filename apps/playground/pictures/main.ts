/**
 * `npm run playground:pictures`: the picture of the README, taken from a page on which a browser pressed Pay twice.
 * `-- --every FOLDER`: every screen in every look instead, for people to look at.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { spawnChild } from "ichido/testing";
import { chromium, type Page } from "playwright-core";
import { findBrowser } from "../../../scripts/services/binaries.ts";
import { refuseWithoutJapanese } from "./japanese-font.ts";
import { takeEveryScreen } from "./every-screen.ts";

const images = join(import.meta.dirname, "../../../docs/guide/images");
const viewport = { width: 1_120, height: 690 };

/** Both lanes are paid by two clicks; the bank has what it has. */
async function payTwice(page: Page, url: string, lang: string): Promise<void> {
  await page.goto(`${url}/?theme=light&lang=${lang}&zone=utc#/pay`);
  for (const lane of ["unprotected", "protected"]) {
    await page.locator(`[data-pay=${lane}]`).dblclick();
    await page.locator(`[data-saw=${lane}]`, { hasText: "·" }).waitFor();
  }
  await page.locator(".protected [data-charges='1']").waitFor();
  await page.locator(".unprotected [data-charges='2']").waitFor();
  await page.mouse.move(0, 0);
}

const executablePath = findBrowser();
if (executablePath === undefined) throw new Error("no Chromium was found; set CHROMIUM_PATH");
const folder = mkdtempSync(join(tmpdir(), "ichido-pictures-"));
const shop = await spawnChild(new URL("../../shop/src/main.ts", import.meta.url), {
  env: { PORT: "0", SHOP_DATA: folder },
  readyPattern: /^shop ready /,
  readyMs: 120_000,
});
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const [, url = ""] = await shop.waitFor(/^shop ready (.+)$/);
  const { every } = parseArgs({ options: { every: { type: "string" } } }).values;
  // Before anything is written: both ways take pictures in Japanese.
  const blank = await browser.newPage();
  await refuseWithoutJapanese(blank);
  await blank.close();
  mkdirSync(every ?? images, { recursive: true });
  if (every !== undefined) await takeEveryScreen(browser, url, every);
  for (const lang of every === undefined ? ["en", "ja"] : []) {
    const page = await browser.newPage({ viewport, reducedMotion: "reduce" });
    await payTwice(page, url, lang);
    await page.screenshot({ path: join(images, lang === "en" ? "playground.png" : "playground-ja.png") });
  }
} finally {
  await browser.close();
  await shop.stop();
  rmSync(folder, { recursive: true, force: true });
}
