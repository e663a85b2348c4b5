/** Every screen in a real browser: drawn, without an error, without a request elsewhere, accessible, and text where text was stored. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { AskAnswer, KeysAnswer } from "../../../packages/ichido/src/console/contract.ts";
import { markup } from "../bed.ts";
import { all } from "../visitor.ts";
import { openSqliteStore } from "ichido/sqlite";
import { accessibilityFaults, describeConsole, go, phone, serve, settled, type Rig } from "./rig.ts";

async function handleOf(rig: Rig, key: string): Promise<string> {
  const headers = { "x-user": "ann", "sec-fetch-site": "same-origin" };
  const response = await fetch(`${rig.url}api/keys?key=${key}`, { headers });
  const { records } = (await response.json()) as KeysAnswer;
  return records[0]?.handle ?? "";
}

async function letterOf(page: Page, side: "outbox" | "inbox"): Promise<string> {
  await go(page, `#/${side}`);
  const href = await page.locator("td a.whole").first().getAttribute("href");
  return href ?? "";
}

/** Each with something that is there once it is drawn. */
async function screensOf(rig: Rig, page: Page): Promise<readonly (readonly [place: string, drawn: string])[]> {
  const [stuck, paid] = [await handleOf(rig, rig.bed.keys.stuck), await handleOf(rig, rig.bed.keys.paid)];
  return [
    ["#/ask", ".figures"],
    ["#/ask?text=42", ".verdict"],
    [`#/ask?text=${rig.bed.keys.paid}`, ".lanes"],
    ["#/keys", "table tbody tr"],
    [`#/keys/${stuck}`, ".lanes"],
    [`#/keys/${paid}`, ".lanes"],
    ["#/live", ".pills"],
    ["#/unknown", "table tbody tr"],
    ["#/outbox", "table tbody tr"],
    [await letterOf(page, "outbox"), ".facts"],
    ["#/inbox", "table tbody tr"],
    [await letterOf(page, "inbox"), ".facts"],
    ["#/storage", ".figures"],
    ["#/traffic", ".figures"],
    ["#/doctor", ".card"],
    ["#/audit", ".card"],
    ["#/nothing", ".empty"],
  ];
}

describeConsole("screens", (rig) => {
  test.each([
    ["light", "en"],
    ["dark", "ja"],
  ] as const)("every screen is drawn and accessible, %s, %s", async (theme, lang) => {
    const page = await rig().open("#/ask", { theme, lang });
    for (const [place, drawn] of await screensOf(rig(), page)) {
      await go(page, place);
      await page.locator(`#main ${drawn}`).first().waitFor();
      await settled(page);
      expect(await page.locator("#main [role=alert]").count(), place).toBe(0);
      // A look takes half a second: each database in one language, and SQLite in both.
      if (rig().bed.ichido.store.name === "sqlite" || lang === "en")
        expect(await accessibilityFaults(page), place).toEqual([]);
    }
    expect(await page.locator("html").getAttribute("lang")).toBe(lang);
    expect(await page.locator("html").getAttribute("data-theme")).toBe(theme);
    await page.close();
  });

  test("nothing is wider than a phone, and Ask and Key can be used there", async () => {
    const page = await rig().open("#/ask", { viewport: phone });
    for (const [place, drawn] of await screensOf(rig(), page)) {
      await go(page, place);
      await page.locator(`#main ${drawn}`).first().waitFor();
      await settled(page);
      expect(await page.evaluate("document.documentElement.scrollWidth"), place).toBe(phone.width);
      if (rig().bed.ichido.store.name === "sqlite") expect(await accessibilityFaults(page), place).toEqual([]);
    }
    await page.locator(".tabs button").click();
    await page.locator(".side").getByText("Storage").click();
    await page.locator("#main h1", { hasText: "Storage" }).waitFor();
    await page.locator(".tabs").getByText("Unknown").click();
    await page.locator("tbody tr").first().click();
    await page.getByRole("button", { name: "Adopt…" }).click();
    const button = await page.getByRole("dialog").getByRole("button", { name: "Adopt" }).boundingBox();
    expect(button?.height).toBeGreaterThanOrEqual(36);
    expect(await accessibilityFaults(page), "the dialog on a phone").toEqual([]);
    await page.close();
  });

  test("how long after the first is as wide as its column, and plots are told in the reader's language", async () => {
    const page = await rig().open(`#/keys/${await handleOf(rig(), rig().bed.keys.paid)}`, { lang: "ja" });
    await page.locator(".happened li").first().waitFor();
    await page.evaluate('document.querySelector(".happened .apart").textContent = "+59 min 59 s"');
    const widths = await page.evaluate<readonly number[]>(
      '[document.querySelector(".happened .apart")].flatMap((each) => [each.scrollWidth, each.clientWidth])',
    );
    expect(widths[0]).toBeLessThanOrEqual(widths[1] ?? 0);
    await go(page, "#/traffic");
    await page.locator(".u-legend").first().waitFor();
    expect(await page.locator(".u-legend").first().textContent()).not.toMatch(/Time|Value/);
    // Of a record without a note, as a crash leaves it.
    await page.route("**/api/ask*", async (route) => {
      const answer = (await (await route.fetch()).json()) as AskAnswer;
      const claimed = { at: answer.keys[0]?.createdAt, kind: "attempt", key: "A", text: "claimed for the first time" };
      await route.fulfill({ json: { ...answer, timeline: [claimed, ...answer.timeline] } });
    });
    await go(page, `#/ask?text=${rig().bed.keys.stuck}`);
    await page.locator(".happened", { hasText: "初めて受け付けた" }).waitFor();
    await page.locator(".happened", { hasText: "結果は不明のまま" }).waitFor();
    await page.close();
  });

  test.each([
    ["light", "en"],
    ["dark", "ja"],
  ] as const)("every dialog is accessible, %s, %s", async (theme, lang) => {
    const page = await rig().open("#/ask", { theme, lang });
    const dialog = page.getByRole("dialog");
    await page.keyboard.press("Escape");
    await page.evaluate("document.activeElement.blur()");
    await page.keyboard.press("?");
    await dialog.waitFor();
    expect(await accessibilityFaults(page), "help").toEqual([]);
    await page.keyboard.press("Escape");
    await go(page, `#/keys/${await handleOf(rig(), rig().bed.keys.stuck)}`);
    await page.locator(".decide button").first().waitFor();
    await settled(page);
    const verbs = await page.locator(".decide button").all();
    let opened = 0;
    for (const verb of verbs) {
      if ((await verb.getAttribute("aria-disabled")) === "true" || (await verb.isDisabled())) continue;
      await verb.click();
      await dialog.waitFor();
      opened += 1;
      expect(await accessibilityFaults(page), (await verb.textContent()) ?? "").toEqual([]);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    }
    expect(opened).toBeGreaterThanOrEqual(3);
    await page.close();
  });

  test("markup in labels, answers, errors and payloads is shown as text", async () => {
    const page = await rig().open("#/unknown");
    await page.locator("tbody tr").first().waitFor();
    expect(await page.locator("tbody").textContent()).toContain(markup);
    await go(page, `#/keys/${await handleOf(rig(), rig().bed.keys.paid)}`);
    expect(await page.locator(".facts").first().textContent()).toContain(markup);
    expect(await page.locator("#main").textContent()).not.toContain(rig().bed.keys.paid);
    await page.getByRole("button", { name: "Reveal…" }).click();
    await page.getByLabel("Reason").fill("a look at the answer");
    await page.getByRole("dialog").getByRole("button", { name: "Reveal" }).click();
    await page.locator("pre.payload").first().waitFor();
    const revealed = await page.getByRole("dialog").textContent();
    expect(revealed).toContain(rig().bed.keys.paid);
    expect(revealed).toContain("<script>alert(2)</script>");
    await page.keyboard.press("Escape");
    await go(page, await letterOf(page, "inbox"));
    await page.locator(".facts").first().waitFor();
    expect(await page.locator("#main").textContent()).not.toContain("payload-");
    await page.getByRole("button", { name: "Reveal…" }).click();
    await page.getByLabel("Reason").fill("a look at the payload");
    await page.getByRole("dialog").getByRole("button", { name: "Reveal" }).click();
    await page.locator("pre.payload", { hasText: "payload-" }).waitFor();
    expect(await page.locator("#main").textContent()).toContain("<script>alert(2)</script>");
    expect(await page.locator('img[src="x"], #main script').count()).toBe(0);
    await go(page, "#/audit");
    await page.locator("tbody", { hasText: "a look at the answer" }).waitFor();
    await page.close();
  });

  test("whoever is let in no more is told so, and what was shown stays", async () => {
    const late = await rig().open("#/keys", { user: "ben" });
    await late.locator("tbody tr").first().waitFor();
    rig().permit("ben", undefined);
    await go(late, "#/live");
    await late.getByRole("alert").filter({ hasText: "Live was refused" }).waitFor();
    rig().permit("ben", all);
    await late.goBack();
    await late.locator("tbody tr").first().waitFor();
    rig().permit("ben", undefined);
    await late.getByRole("button", { name: "Refresh" }).click();
    await late.getByRole("alert").first().waitFor();
    expect(await late.locator("tbody tr").count()).toBeGreaterThan(0);
    rig().permit("ben", ["read"]);
    await late.getByRole("button", { name: "Try again" }).first().click();
    await late.getByRole("alert").first().waitFor({ state: "detached" });
    rig()
      .complaints.splice(0)
      .forEach((each) => expect(each).toMatch(/40[13]/));
    rig().permit("ben", ["read", "reveal", "settle", "events", "erase"]);
    await late.close();
  });

  test("without the page's own session there is no page either", async () => {
    const page = await rig().browser.newPage();
    const response = await page.goto(rig().url);
    expect(response?.status()).toBe(403);
    expect(await page.locator("body").textContent()).toContain("not let in");
    await page.close();
  });

  test("a console that is read-only says so, and offers nothing", async () => {
    const served = await serve(rig().bed.ichido, { authorize: () => ({ user: "ann", can: all }), readOnly: true });
    const page = await rig().open(`#/keys/${await handleOf(rig(), rig().bed.keys.stuck)}`, { at: served.url });
    await page.locator(".top", { hasText: "read-only" }).waitFor();
    await page.locator(".decide").waitFor();
    for (const verb of ["Adopt…", "Release…", "Hold…", "Reveal…", "Forget…"])
      expect(await page.getByRole("button", { name: verb }).getAttribute("title")).toContain("read-only");
    await page.close();
    served.close();
  });

  test("a store that is down is told on every screen, with what to do", async () => {
    const closed = await openSqliteStore(":memory:", { migrate: true });
    await closed.close();
    const served = await serve({ store: closed }, { authorize: () => ({ user: "ann", can: all }) });
    const page = await rig().open("#/keys", { at: served.url });
    await page.getByRole("alert").filter({ hasText: "The store fails" }).first().waitFor();
    await page.locator(".top", { hasText: "not answering" }).waitFor();
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBeGreaterThan(0);
    await page.close();
    served.close();
    rig()
      .complaints.splice(0)
      .forEach((each) => expect(each).toMatch(/50[23]/));
  });
});
