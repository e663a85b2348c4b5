/** The page in a browser: real clicks, reloads and tabs on the real lanes, and what the bank has afterwards. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { servicesRequired } from "../../../test/support/services.ts";
import { accessibilityFaults } from "../../../test/console/browser/rig.ts";
import { call } from "../playground-faults/drive.ts";
import { lanes } from "../src/playground/contract.ts";
import { findRedis } from "../src/playground/redis/private-redis.ts";
import { chargesOn, describePlaygroundPage, phone, type PlaygroundBrowser } from "./support/playground-browser.ts";

const isGreyed = findRedis() === undefined && !servicesRequired();

describePlaygroundPage("the playground's page", (rig) => {
  const open: PlaygroundBrowser["open"] = (place, look) => rig().open(place, look);

  const setSlider = (page: Page, name: string, value: string): Promise<void> => page.fill(`[name=${name}]`, value);

  it("P1 two clicks by hand: two charges without protection, one with it, and the buyer sees the replay", async () => {
    const page = await open("pay");
    expect(await page.locator('footer a[href="/console/"]').count()).toBe(1);
    for (const lane of lanes) {
      await page.locator(`[data-pay=${lane}]`).dblclick();
      await page.locator(`[data-saw=${lane}]`, { hasText: "·" }).waitFor();
    }
    await expect.poll(() => chargesOn(page)).toEqual([2, 1]);
    expect(await page.locator("[data-saw=protected]").textContent()).toContain("replayed");
    expect(await page.locator("pre .only", { hasText: "idempotency(ichido" }).count()).toBe(1);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it.each(["cut-after-answer", "kill-after-charge", "reload", "two-tabs"])(
    "P2 and P3 %s: as the page says, and drawn from the log",
    async (fault) => {
      const page = await open("faults");
      await page.check(`input[value=${fault}]`);
      await page.locator("[data-run-fault]").click();
      await page.locator("[data-verdict=as-said]").waitFor();
      expect(await chargesOn(page)).toEqual([2, 1]);
      expect(await page.locator(".lanes").count()).toBe(2);
      expect(await page.locator(".mark").count()).toBeGreaterThan(10);
      if (fault === "reload") {
        expect(await page.locator("[data-key-found]").textContent()).toMatch(/^[0-9a-f-]{36}$/);
        expect(await page.locator(".mark[title*='answered to nobody']").count()).toBe(2);
      }
      if (fault !== "kill-after-charge") return;
      // A mark by the mouse, a line of the list by the keyboard.
      await page.locator(".lanes .mark[title*='POST /payments']").last().click();
      expect(await page.locator("[data-raw=wire] pre").first().textContent()).toMatch(/idempotency-key: /i);
      await page.locator(".lane-story summary").last().focus();
      await page.keyboard.press("Enter");
      await page
        .locator(".happened button", { hasText: /^complete/ })
        .last()
        .focus();
      await page.keyboard.press("Enter");
      await page.locator("[data-raw=row] .changed", { hasText: "completed" }).first().waitFor();
      expect(await accessibilityFaults(page)).toEqual([]);
    },
  );

  it("P2 what cannot be had here is greyed, with the reason", async () => {
    const page = await open("faults");
    expect(await page.locator("input[value=kill-database-connection]").isDisabled()).toBe(true);
    expect(await page.locator("label.off").textContent()).toContain("PLAYGROUND_DATABASE_URL");
  });

  it("an event that is delivered five times more mails six times, and once", async () => {
    const page = await open("events", { theme: "dark" });
    await page.locator("[data-order]").click();
    await page.locator("[data-deliver]:enabled").click();
    await page.locator("[data-mails='6']").waitFor();
    expect(await page.locator("[data-mails='1']").count()).toBe(1);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it("P5 before anything was measured there is no forecast, and the page says so", async () => {
    const page = await open("storage");
    for (const which of ["storm", "run"]) {
      expect(await page.locator(`[data-forecast=${which}]`).textContent()).toBe("–");
    }
    expect(await page.locator(".figures").first().textContent()).toContain("not measured: no storm");
  });

  it("P4 and P5 a storm shows its seed, counts and zero as a bound; then bytes per key and a rate are known", async () => {
    const page = await open("storm");
    expect(
      await page.locator("[name=payments]").evaluateAll((all) => all.map((each) => each.getAttribute("value"))),
    ).toEqual(["50", "500", "5000"]);
    await setSlider(page, "kill", "0");
    await setSlider(page, "doubleClick", "40");
    await page.locator("[data-start-storm]").click();
    await page.locator("[data-storm=done]").waitFor({ timeout: 60_000 });
    expect(await page.locator("[data-progress='100']").textContent()).toContain("100 of 100 payments");
    expect(Number(await page.locator("[data-more=unprotected]").textContent())).toBeGreaterThan(0);
    expect(await page.locator("[data-more=protected]").textContent()).toBe("0 seen: < 6 % at 95 %");
    await expect.poll(() => page.locator("canvas").count()).toBe(2);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.evaluate("location.hash = '#/storage'");
    await page.locator("[data-forecast=storm]", { hasText: "≈" }).waitFor();
    expect(await page.locator(".figures dd").first().textContent()).toMatch(/^\d+ B|kB/);
    const figures = page.locator(".figures").first();
    expect(await figures.textContent()).toMatch(/last storm, 30 d≈ .*50 keys in [\d.]+ s, counted by the database/);
    // One day more by the keyboard: told at the next answer, with what it takes.
    await page.locator("[name=days]").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(".figures dt", { hasText: "At the rate of the last storm, 31 d" }).waitFor();
    await expect.poll(() => page.locator("[data-growth] canvas").count()).toBe(2);
    await page.locator("[data-sweep]").click();
    await page.locator("[data-swept='60']").waitFor({ timeout: 60_000 });
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it("P4 sliders obey the keyboard, and go no further than the others leave room", async () => {
    const page = await open("storm");
    const kill = page.locator("[name=kill]");
    const before = Number(await kill.inputValue());
    await kill.focus();
    await page.keyboard.press("ArrowRight");
    expect(await kill.inputValue()).toBe(String(before + 1));
    expect(await page.locator("label:has([name=kill]) output").textContent()).toBe(`${before + 1} %`);
    await page.keyboard.press("End");
    expect(await kill.inputValue()).toBe("30");
    await page.locator("[name=doubleClick]").focus();
    await page.keyboard.press("End");
    // 30 kills, 15 lost answers and 5 lost requests are taken.
    expect(await page.locator("[name=doubleClick]").inputValue()).toBe("50");
    await page.locator("[name=databaseDrop]:disabled").waitFor();
  });

  it("P4 a storm of 5,000 is told as it goes, and stopped by hand", async () => {
    const page = await open("storm");
    await page.check("[name=payments][value='5000']");
    await setSlider(page, "kill", "0");
    await page.locator("[data-start-storm]:enabled").click();
    const bought = async (): Promise<number> =>
      Number(await page.locator("[data-storm=running] [data-progress]").getAttribute("data-progress"));
    await expect.poll(bought, { timeout: 20_000 }).toBeGreaterThan(5);
    expect(await page.locator("progress").getAttribute("max")).toBe("10000");
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.locator("[data-stop-storm]").click();
    await page.locator("[data-storm=stopped]", { hasText: /Stopped after \d+ of 10\u202f000 payments/ }).waitFor();
    expect(await page.locator("[data-stop-storm]").count()).toBe(0);
    await page.locator("[data-start-storm]:enabled").waitFor();
  });

  it("P4 a storm that is over within half a second is drawn as well", async () => {
    const mix = { kill: 0, cutAfterAnswer: 0, cutBeforeArrival: 0, doubleClick: 0 };
    await call(rig().shop.url, "storm", { payments: 2, concurrency: 2, seed: 1, mix });
    const page = await open("storm");
    // Of two payments nothing can be said; the storm before this one had more.
    await page.locator("[data-storm=done]", { hasText: "0 seen: < 100 % at 95 %" }).waitFor();
    await expect.poll(() => page.locator("canvas").count()).toBe(2);
  });

  it("P6 a ticket is answered with the console of the lane", async () => {
    const page = await open("drill");
    await page.locator("[data-ticket]").click();
    const console = await page.locator("[data-console]").getAttribute("href");
    const desk = await rig().browser.newPage();
    await desk.goto(console ?? "");
    const verdict = (await desk.locator(".verdict h1").textContent()) ?? "";
    const answer = /two keys/.test(verdict)
      ? "two-keys"
      : /provider/.test(verdict)
        ? "crash-after-charge"
        : "bought-twice";
    await page.locator(`[data-answer=${answer}]`).click();
    await page.locator("[data-judged=true]").waitFor();
  });

  it("P7 a limit is red, and mended with its setting", async () => {
    const page = await open("limits");
    await page.locator("[data-limit=key-per-click] button").click();
    await page.locator("[data-limit=key-per-click] [data-charges]").first().waitFor();
    expect(await chargesOn(page)).toEqual([2, 1]);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it.skipIf(isGreyed)(
    "P7 keys in a Redis that evicts: two charges, and doctor had said so (needs redis-server)",
    async () => {
      const page = await open("limits");
      const card = page.locator("[data-limit=redis-evicts]");
      await card.locator("button:enabled").click();
      await card.locator("[data-doctor]").first().waitFor();
      expect(await chargesOn(page)).toEqual([2, 1]);
      expect(await card.locator("[data-doctor]").allTextContents()).toEqual([
        expect.stringContaining("maxmemory-policy is allkeys-lru"),
        expect.stringContaining("nothing to say"),
      ]);
    },
  );

  it("P8 the block changes with what is picked", async () => {
    const page = await open("home");
    await page.selectOption("select >> nth=2", "Hono");
    await page.selectOption("select >> nth=4", "Kysely");
    expect(await page.locator("pre").nth(1).textContent()).toContain("kyselyTransactions(db");
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it("speaks Japanese, fits a phone, and is paid with by keyboard alone", async () => {
    const page = await open("pay", { lang: "ja", theme: "dark", viewport: phone });
    expect(await page.locator("h1").textContent()).toBe("同じ店、同じ客、同じネットワーク");
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await page.locator("[data-pay=protected]").focus();
    await page.keyboard.press("Enter");
    await page.locator("[data-saw=protected]", { hasText: "支払い済み" }).waitFor();
    await expect.poll(() => chargesOn(page)).toEqual([0, 1]);
    for (const place of ["faults", "events", "storm", "storage", "drill", "limits", "home"]) {
      await page.evaluate(`location.hash = "#/${place}"`);
      await page.locator("#main h1").waitFor();
      expect([place, await page.evaluate("document.documentElement.scrollWidth <= innerWidth")]).toEqual([place, true]);
    }
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});
