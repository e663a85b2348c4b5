/** From a ticket to a decision: by keyboard alone, by two people at once, by people who may not. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeConsole, go, settled, type Rig } from "./rig.ts";

async function openKey(rig: Rig, key: string, user = "ann"): Promise<Page> {
  const page = await rig.open(`#/ask?text=${key}`, { user });
  await page.locator("table a.whole").first().click();
  await page.locator(".decide").waitFor();
  await settled(page);
  return page;
}

const idIn = async (page: Page): Promise<string> => (await page.locator("h1 .mono").textContent()) ?? "";

async function decide(page: Page, verb: string, reason: string): Promise<void> {
  await page.getByRole("button", { name: `${verb}…` }).click();
  await page.getByLabel("Reason").fill(reason);
}

const confirm = (page: Page, verb: string): Promise<void> =>
  page.getByRole("dialog").getByRole("button", { name: verb, exact: true }).click();

describeConsole("settling", (rig) => {
  test("the keyboard alone: ask, verdict, key, adopt with a reason", async () => {
    const key = await rig().bed.stuckKey();
    rig().bed.charges = [{ id: "ch_9001", amount: 4_200 }];
    const page = await rig().open("#/keys");
    const { keyboard } = page;
    await page.locator("tbody tr").first().waitFor();
    await keyboard.press("/");
    await page.locator("#ask:focus").waitFor();
    await keyboard.type(key);
    await keyboard.press("Enter");
    await page.locator(".verdict", { hasText: "The provider did it" }).waitFor();
    await keyboard.press("j");
    await keyboard.press("Enter");
    await page.locator(".decide").waitFor();
    await settled(page);
    // The next stops are inside of the screen, in the order in which they stand.
    const focused = (): Promise<string> => page.evaluate("document.activeElement?.textContent ?? ''");
    for (let tabs = 0; tabs < 20 && (await focused()) !== "Adopt…"; tabs += 1) await keyboard.press("Tab");
    await keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    expect(await dialog.getByLabel("Body").inputValue()).toContain("ch_9001");
    for (let tabs = 0; tabs < 8; tabs += 1) {
      if ((await page.evaluate("document.activeElement?.name")) === "reason") break;
      await keyboard.press("Tab");
    }
    await keyboard.type("ticket 4711: the bank has it");
    await keyboard.press("Enter");
    await page.locator("h1", { hasText: "completed 201" }).waitFor();
    await keyboard.press("g");
    await keyboard.press("h");
    await page.locator("tbody", { hasText: "ticket 4711: the bank has it" }).waitFor();
    const again = rig().bed.ichido.run(
      { operation: "payment.create", scope: { tenant: "acme", principal: "cus_42" }, key, input: { key } },
      () => "ran again",
    );
    expect((await again).replayed).toBe(true);
    rig().bed.charges = [];
    await page.close();
  });

  test("two browsers settle one key: the second is refused and shown what it is now", async () => {
    const key = await rig().bed.stuckKey();
    const [ann, ben] = [await openKey(rig(), key), await openKey(rig(), key, "ben")];
    await decide(ben, "Hold", "ben waits for the bank");
    await decide(ann, "Adopt", "ann was first");
    await confirm(ann, "Adopt");
    await ann.locator("h1", { hasText: "completed 201" }).waitFor();
    await confirm(ben, "Hold");
    const told = await ben.getByRole("alert").first().textContent();
    expect(told).toMatch(/Somebody else was first.*completed 201/);
    await ben.locator("h1", { hasText: "completed 201" }).waitFor();
    await ben.locator(".happened", { hasText: "ann was first" }).waitFor();
    expect(await ben.locator(".happened").textContent()).not.toContain("ben waits");
    rig()
      .complaints.splice(0)
      .forEach((each) => expect(each).toContain("409"));
    await Promise.all([ann.close(), ben.close()]);
  });

  test("a release is not to be had where the provider did it, and wants the end of the id where it did not", async () => {
    rig().bed.charges = [{ id: "ch_9002", amount: 4_200 }];
    const page = await openKey(rig(), await rig().bed.stuckKey());
    const release = page.getByRole("button", { name: "Release…" });
    expect(await release.getAttribute("aria-disabled")).toBe("true");
    expect(await release.getAttribute("title")).toContain("ch_9002");
    rig().bed.charges = [];
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.locator(".badge", { hasText: "nothing happened" }).waitFor();
    await decide(page, "Release", "ticket 4712");
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toMatch(/charged twice.*nothing happened/s);
    expect(await dialog.locator("[name=checked]").count()).toBe(0);
    const button = dialog.getByRole("button", { name: "Release", exact: true });
    await dialog.locator("[name=echo]").fill("zzzz");
    expect(await button.isDisabled()).toBe(true);
    await dialog.locator("[name=echo]").fill((await idIn(page)).slice(-4));
    await button.click();
    await page.locator("h1", { hasText: "failed" }).waitFor();
    await page.locator(".happened", { hasText: "ticket 4712" }).waitFor();
    await page.close();
  });

  test("where the provider cannot be asked, a release wants the word of somebody who looked there", async () => {
    const down = (): never => {
      throw new Error("the bank is down");
    };
    Object.defineProperty(rig().bed, "charges", { configurable: true, get: down });
    const page = await openKey(rig(), await rig().bed.stuckKey());
    await page.locator(".badge", { hasText: "could not be asked" }).waitFor();
    await decide(page, "Release", "ticket 4717");
    const dialog = page.getByRole("dialog");
    const button = dialog.getByRole("button", { name: "Release", exact: true });
    await dialog.locator("[name=echo]").fill((await idIn(page)).slice(-4));
    expect(await button.isDisabled()).toBe(true);
    await dialog.locator("[name=checked]").check();
    await button.click();
    await page.locator("h1", { hasText: "failed" }).waitFor();
    Object.defineProperty(rig().bed, "charges", { configurable: true, writable: true, value: [] });
    await page.close();
  });

  test("hold, then forget: each where it is allowed, and only there", async () => {
    const page = await openKey(rig(), await rig().bed.stuckKey());
    const forget = page.getByRole("button", { name: "Forget…" });
    expect(await forget.getAttribute("aria-disabled")).toBe("true");
    expect(await forget.getAttribute("title")).toContain("outcome is known");
    await decide(page, "Hold", "ticket 4713: wait for the bank");
    await confirm(page, "Hold");
    await page.locator(".happened", { hasText: "ticket 4713" }).waitFor();
    await page.close();

    const paid = await openKey(rig(), await rig().bed.paidKey());
    expect(await paid.getByRole("button", { name: "Adopt…" }).getAttribute("aria-disabled")).toBe("true");
    await decide(paid, "Forget", "ticket 4714: erasure asked for");
    await paid.locator("[name=echo]").fill((await idIn(paid)).slice(-4));
    await confirm(paid, "Forget");
    await paid.locator(".facts", { hasText: "tombstone" }).waitFor();
    await paid.close();
  });

  test("who may only read sees why nothing can be done, and a right that was taken away is refused by name", async () => {
    const key = await rig().bed.stuckKey();
    const eve = await openKey(rig(), key, "eve");
    const adopt = eve.getByRole("button", { name: "Adopt…" });
    expect(await adopt.getAttribute("title")).toContain('"settle"');
    await adopt.click({ force: true });
    expect(await eve.getByRole("dialog").count()).toBe(0);
    await eve.close();

    const ben = await openKey(rig(), key, "ben");
    await decide(ben, "Hold", "too late");
    rig().permit("ben", ["read"]);
    await confirm(ben, "Hold");
    expect(await ben.getByRole("dialog").getByRole("alert").textContent()).toContain('"settle"');
    rig().permit("ben", ["read", "reveal", "settle", "events", "erase"]);
    rig()
      .complaints.splice(0)
      .forEach((each) => expect(each).toContain("403"));
    await go(ben, "#/unknown");
    await ben.close();
  });

  test("a decision is not sent again in the name of somebody who signed in meanwhile", async () => {
    const page = await openKey(rig(), await rig().bed.stuckKey());
    await decide(page, "Hold", "decided by ann");
    await page.context().setExtraHTTPHeaders({ "x-user": "ben" });
    await confirm(page, "Hold");
    expect(await page.getByRole("dialog").getByRole("alert").textContent()).toContain("Your session is over");
    await page.keyboard.press("Escape");
    await go(page, "#/audit");
    await page.locator("#main h1", { hasText: "Audit" }).waitFor();
    await settled(page);
    expect(await page.locator("#main").textContent()).not.toContain("decided by ann");
    rig()
      .complaints.splice(0)
      .forEach((each) => expect(each).toContain("403"));
    await page.close();
  });
});
