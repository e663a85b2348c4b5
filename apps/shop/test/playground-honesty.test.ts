/** What the page says is so: who counted, what was not counted, which fault it was, who is up; for everybody who looks. */
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { accessibilityFaults } from "../../../test/console/browser/rig.ts";
import { call } from "../playground-faults/drive.ts";
import { bankModes, type RunView, type StateView } from "../src/playground/contract.ts";
import type { StormView } from "../src/playground/storm-view.ts";
import { chargesOn, describePlaygroundPage, phone } from "./support/playground-browser.ts";

const numbersIn = async (place: Locator): Promise<readonly string[]> =>
  (await place.allTextContents()).map((text) => text.trim());

describePlaygroundPage("the playground's page says what is so", (rig) => {
  const calling = <Answer>(path: string, body?: object): Promise<Answer> => call<Answer>(rig().shop.url, path, body);

  async function clickTwice(page: Page): Promise<void> {
    for (const lane of ["unprotected", "protected"]) {
      await page.locator(`[data-pay=${lane}]`).dblclick();
      await page.locator(`[data-saw=${lane}]`, { hasText: "·" }).waitFor();
    }
  }

  it("P1 what nobody has counted yet has no number", async () => {
    const page = await rig().open("pay");
    expect(await numbersIn(page.locator(".charges .big"))).toEqual(["–", "–"]);
    expect(await numbersIn(page.locator(".counted dd"))).toEqual(Array.from({ length: 8 }, () => "–"));
  });

  it("P1 clicks by the buyer, charges and their sum by the bank, and one charge is not called charges", async () => {
    const page = await rig().open("pay");
    await clickTwice(page);
    const lane = (name: string): Locator => page.locator(`.lane-card.${name}`);
    await lane("unprotected").locator("[data-sum='8400']", { hasText: "84.00 EUR, should be 42.00 EUR" }).waitFor();
    await lane("protected").locator("[data-sum='4200']", { hasText: "42.00 EUR" }).waitFor();
    for (const name of ["unprotected", "protected"]) {
      await lane(name)
        .locator(".counted > div", { hasText: /clicks counted by the buyer\s*2/ })
        .waitFor();
    }
    expect(await numbersIn(page.locator(".charges .name"))).toEqual(["charges", "charge"]);
  });

  it("P1 a new cart shows nothing of a payment that is on its way", async () => {
    await calling("bank", { mode: "slow" });
    try {
      const page = await rig().open("pay");
      await page.locator("[data-pay=unprotected]").click();
      await page.locator(".counted > div", { hasText: /arrivals counted by the proxy\s*1/ }).waitFor();
      await page.locator("button", { hasText: "New cart" }).click();
      await page.locator("#main [role=status]", { hasText: "Working" }).waitFor();
      await page.locator("#main [role=status]", { hasText: /^$/ }).waitFor({ state: "attached" });
      expect(await page.locator("[data-saw=unprotected]").textContent()).toBe("–");
      expect(await numbersIn(page.locator(".charges .big"))).toEqual(["–", "–"]);
    } finally {
      await calling("bank", { mode: "dedupes" });
    }
  });

  it("P1 every line that one lane alone runs is marked, those of its buyer too", async () => {
    const page = await rig().open("pay");
    const marked = async (name: string): Promise<string> => {
      const lines = page.locator(`[data-file="${name}"] pre > code`);
      await lines.first().waitFor({ state: "attached" });
      const only = await lines.and(page.locator(".only")).count();
      return only === 0 ? "none" : only === (await lines.count()) ? "all" : "some";
    };
    for (const [name, how] of [
      ["take-payment.ts", "none"],
      ["unprotected.ts", "some"],
      ["protected.ts", "some"],
      ["engine.ts", "all"],
      ["ask-bank.ts", "all"],
      ["plain-buyer.ts", "all"],
      ["keyed-buyer.ts", "all"],
    ] as const) {
      expect([name, await marked(name)]).toEqual([name, how]);
    }
  });

  it.each([
    ["en", [/charges come from the bank/, /same handler/, /signals, sockets/, /seed/, /< 3\/n/, /arrivals/, /Limits/]],
    ["ja", [/請求は銀行/, /同じハンドラー/, /シグナル、ソケット/, /種/, /< 3\/n/, /到着/, /限界/]],
  ] as const)("the footer has all seven rules (%s)", async (lang, said) => {
    const page = await rig().open("pay", { lang });
    const rules = await page.locator("footer li").allTextContents();
    expect(rules).toHaveLength(said.length);
    for (const [at, rule] of rules.entries()) expect(rule).toMatch(said[at] ?? "");
  });

  it("a way through the first five minutes: four steps, each with a link", async () => {
    const page = await rig().open("pay");
    for (const [step, screen] of ["pay", "faults", "limits", "drill"].entries()) {
      await page.locator(".steps a").nth(step).click();
      await page.locator(".steps [aria-current=step]", { hasText: `Step ${step + 1} of 4` }).waitFor();
      expect(await page.evaluate("location.hash")).toContain(`#/${screen}`);
    }
  });

  it("P2 after a reload the deck still has the fault that was chosen, and the verdict names it", async () => {
    const page = await rig().open("faults");
    await page.check("input[value=reload]");
    await page.locator("[data-run-fault]").click();
    const verdict = page.locator("[data-verdict=as-said]");
    await verdict.waitFor();
    expect(await verdict.textContent()).toContain(
      "Reload in mid-payment: as this page says, Unprotected 2 · Protected 1",
    );
    expect(await page.isChecked("input[value=reload]")).toBe(true);
  });

  it.each(["reload", "cut-after-answer"])("P2 %s in one lane alone, and the verdict is of that", async (fault) => {
    const page = await rig().open(`faults?fault=${fault}`);
    await page.selectOption("[name=lanes]", "protected");
    await page.locator("[data-run-fault]").click();
    await page.locator("[data-verdict=as-said]", { hasText: "as this page says, Protected 1" }).waitFor();
    expect(await chargesOn(page)).toEqual([0, 1]);
    expect(await page.locator(".lanes").count()).toBe(1);
  });

  it("P2 a bank that ignores references: why the protected lane holds all the same, and where it does not", async () => {
    const page = await rig().open("faults");
    expect(await page.locator("[data-bank-note]").count()).toBe(0);
    try {
      await page.locator("select:has([value=ignores-references])").selectOption(bankModes[1]);
      await page.locator("[data-bank-note]", { hasText: "asks the bank" }).waitFor();
      expect(await page.locator("[data-bank-note] a").getAttribute("href")).toBe("#/limits");
    } finally {
      await calling("bank", { mode: "dedupes" });
    }
  });

  it("P3 a legend says what the marks mean that are drawn; on a phone a row fits beside what it was", async () => {
    const page = await rig().open("faults?fault=kill-after-charge", { viewport: phone });
    await page.locator("[data-run-fault]").click();
    await page.locator("[data-verdict=as-said]").waitFor();
    for (const meaning of ["money moved", "kills the lane", "clicked Pay", "everything else"]) {
      expect(await page.locator(".legend li", { hasText: meaning }).count()).toBe(1);
    }
    expect(await page.locator(".legend li", { hasText: "second tab" }).count()).toBe(0);
    await page.locator(".lane-story summary").last().click();
    await page
      .locator(".happened button", { hasText: /^complete/ })
      .last()
      .click();
    const row = page.locator("[data-raw=row] .source").first();
    const cut = await row
      .locator("th, td")
      .evaluateAll((all) =>
        all.filter((each) => each.scrollWidth > each.clientWidth).map(({ textContent }) => textContent),
      );
    expect(cut).toEqual([]);
    expect(await row.evaluate((place) => place.scrollWidth <= place.clientWidth)).toBe(true);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it("P4 none of so many is a bound, in every row; what cannot be counted has no number; totals stand in the legend", async () => {
    const mix = { kill: 0, cutAfterAnswer: 0, cutBeforeArrival: 0, doubleClick: 50 };
    await calling("storm", { payments: 30, concurrency: 4, seed: 7, mix });
    const page = await rig().open("storm", { theme: "dark" });
    await page.locator("[data-storm=done]").waitFor();
    const cellsOf = (name: string): Promise<readonly string[]> =>
      numbersIn(page.locator(".beside tr", { hasText: name }).locator("td"));
    for (const name of ["Not charged", "Gave up"]) {
      expect([name, await cellsOf(name)]).toEqual([name, ["0 seen: < 10 % at 95 %", "0 seen: < 10 % at 95 %"]]);
    }
    const { totals, lanes } = await calling<StormView>("storm");
    expect(lanes.unprotected).not.toHaveProperty("databaseDrops");
    expect(await cellsOf("Database connections ended")).toEqual(["–", "–"]);
    const legends = await page.locator(".plot .u-legend").allTextContents();
    expect(legends).toHaveLength(2);
    expect(legends[1]).toContain(`in all`);
    expect(legends[1]).toMatch(new RegExp(`executed\\W*${totals.protected?.executed}\\D`));
    expect(legends[1]).toMatch(/5xx\W*0/);
    expect(await page.locator(".histogram").textContent()).toContain("counted by the buyers");
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it("a process that was killed is shown as down until it is back", async () => {
    const page = await rig().open("drill");
    const dot = page.locator("[data-process=protected]");
    await dot.and(page.locator("[data-up=true]")).waitFor();
    // It comes back sooner than a page may look: killed as often as it takes.
    await expect
      .poll(
        async () => {
          const { processes } = await calling<StateView>("state");
          const lane = processes.find(({ name }) => name === "protected");
          if (lane?.isUp !== false) process.kill(lane?.pid ?? 0, "SIGKILL");
          return dot.textContent();
        },
        { timeout: 15_000, interval: 100 },
      )
      .toContain("down");
    await dot.and(page.locator("[data-up=true]")).waitFor();
  });

  it("P5 keys that were swept are counted by the engine, what is left by the database", async () => {
    const page = await rig().open("storage", { theme: "dark" });
    await page.locator("[data-sweep]").click();
    const swept = page.locator("[data-swept]");
    await swept.waitFor({ timeout: 60_000 });
    expect(await swept.textContent()).toMatch(/60 keys.*counted by the engine.*in use; counted by the database/);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it("P6 nothing serious for those who hear or only type, before and after the answer, in both themes", async () => {
    const page = await rig().open("drill");
    await page.locator("[data-ticket]").click();
    await page.locator("[data-answer=bought-twice]:enabled").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.locator("[data-answer=bought-twice]").click();
    await page.locator("[data-judged]").waitFor();
    for (const theme of ["light", "dark"]) {
      await page.locator(".switches select").first().selectOption(theme);
      expect([theme, await accessibilityFaults(page)]).toEqual([theme, []]);
    }
  });

  it("nothing serious on any screen in the dark, and on a phone in Japanese every screen is reached", async () => {
    const page = await rig().open("pay", { theme: "dark" });
    await clickTwice(page);
    for (const place of ["pay", "faults", "events", "storm", "storage", "drill", "limits", "home"]) {
      await page.evaluate(`location.hash = "#/${place}"`);
      await page.locator(`.nav a[aria-current=page][href="#/${place}"]`).waitFor();
      expect([place, await accessibilityFaults(page)]).toEqual([place, []]);
    }
    const small = await rig().open("pay", { lang: "ja", viewport: phone });
    for (const place of ["limits", "home"]) {
      const shown = small.locator(`nav a[href="#/${place}"]:visible`);
      if ((await shown.count()) === 0) await small.locator(".tabs button").click();
      const { x, width } = (await shown.last().boundingBox()) ?? { x: phone.width, width: 0 };
      expect([place, x >= 0 && x + width <= phone.width]).toEqual([place, true]);
      await shown.last().click();
      await small.waitForURL(new RegExp(`#/${place}`));
    }
    expect(await accessibilityFaults(small)).toEqual([]);
  });

  it("P8 what is for the protection is marked, and the tables come at once or as files", async () => {
    const page = await rig().open("home");
    expect(await numbersIn(page.locator("pre .only"))).toContainEqual(expect.stringContaining("idempotency(ichido"));
    expect(await page.locator("pre", { hasText: "ichido migrate" }).textContent()).toContain(
      "ichido export --for sql --dialect postgres --out migrations",
    );
  });

  it("charges, sums and clicks are counted on the server", async () => {
    const { run } = await calling<{ readonly run: string }>("runs", { fault: "none" });
    const { lanes } = await calling<RunView>(`runs/${run}`);
    expect(lanes.protected).toMatchObject({ buyerClicks: 0, charged: { count: 0, tooMany: 0, sum: 0 } });
  });
});
