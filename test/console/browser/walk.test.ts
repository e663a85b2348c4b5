/** What the address holds, what the keyboard does, what comes by itself, and letters in bulk. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { describeConsole, go, holds, settled } from "./rig.ts";

describeConsole("walking", (rig) => {
  test("filters stand in the address: a link shows a colleague the same", async () => {
    const page = await rig().open("#/keys");
    await page.getByRole("button", { name: "unknown", exact: true }).click();
    await page.getByLabel("Filter by").selectOption("label");
    await page.getByLabel("Value").fill("customer=42");
    await page.keyboard.press("Enter");
    await page.locator(".chip", { hasText: "customer=42" }).waitFor();
    await page.getByLabel("newer than").selectOption("3600000");
    await holds(page, "location.hash.includes('newerThanMs')");
    await page.locator("tbody tr").first().waitFor();
    const address = (await page.evaluate<string>("location.hash")) ?? "";
    expect(address).toBe("#/keys?state=unknown&label=customer%3D42&newerThanMs=3600000");
    const rows = await page.locator("tbody tr").count();
    expect(rows).toBeGreaterThanOrEqual(2);

    const colleague = await rig().open(address, { user: "ben", lang: "ja" });
    await colleague.locator("tbody tr").first().waitFor();
    expect(await colleague.locator("tbody tr").count()).toBe(rows);
    expect(await colleague.locator("tbody").textContent()).toContain("結果不明");
    await colleague.close();

    await page.locator(".chip button").click();
    await holds(page, "!location.hash.includes('label')");
    await go(page, "#/keys?tenant=nobody-has-this-name");
    await page.locator(".empty", { hasText: "No record matches" }).waitFor();
    await page.close();
  });

  test("two choices of one moment both stand: the second goes by the address, not by what is drawn", async () => {
    const page = await rig().open("#/keys");
    await page.locator("tbody tr").first().waitFor();
    // Without a turn of the page in between, as a fast hand may be on a slow machine.
    await page.evaluate(`{
      [...document.querySelectorAll(".pills button")].find((each) => each.textContent === "unknown").click();
      const age = document.querySelector("select.age");
      age.value = "3600000";
      age.dispatchEvent(new Event("change", { bubbles: true }));
    }`);
    expect(await page.evaluate("location.hash")).toBe("#/keys?state=unknown&newerThanMs=3600000");
    await page.close();
  });

  test("a filter that is no filter, or says nothing, finds nothing; one by key is handed on without the key", async () => {
    const page = await rig().open("#/ask");
    const refused = ["keys?sate=unknown", "keys?customer=42", "keys?state=", "keys?state=open", "inbox?tpic=none"];
    for (const place of refused) {
      await go(page, `#/${place}`);
      await page.getByRole("alert").filter({ hasText: "did not understand" }).waitFor();
      expect(await page.locator("tbody tr").count(), place).toBe(0);
    }
    await page.locator(".chip button").click();
    await page.locator("tbody tr").first().waitFor();
    await go(page, "#/live?kind=none");
    await page.locator(".empty", { hasText: "Waiting" }).waitFor();
    await go(page, "#/keys?key=not-there");
    await page.locator(".empty", { hasText: "No record matches" }).waitFor();
    const { paid } = rig().bed.keys;
    await page.locator(".chip button").click();
    await page.getByLabel("Filter by").selectOption("key");
    await page.getByLabel("Value").fill(paid);
    await page.keyboard.press("Enter");
    await holds(page, "document.querySelectorAll('tbody tr').length === 1");
    await page.keyboard.press("Escape");
    await page.evaluate("document.activeElement.blur()");
    await page.keyboard.press("y");
    await page.locator(".toast").waitFor();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(link).toMatch(/#\/keys\/./);
    expect(link).not.toContain(paid);
    rig()
      .complaints.splice(0)
      .forEach((each) => expect(each).toMatch(/400/));
    await page.close();
  });

  test("the audit of any age asks for all years, and one whose time nobody knows shows nothing", async () => {
    const page = await rig().open("#/audit");
    const asked = page.waitForRequest((request) =>
      /newerThanMs=3\d{11}/.test(request.headers()["x-ichido-query"] ?? ""),
    );
    await page.getByRole("button", { name: "any age" }).click();
    await asked;
    expect(await page.getByRole("button", { name: "any age" }).getAttribute("aria-pressed")).toBe("true");
    await go(page, "#/audit?newerThanMs=soon");
    await page.getByRole("alert").filter({ hasText: "did not understand" }).waitFor();
    rig()
      .complaints.splice(0)
      .forEach((each) => expect(each).toMatch(/400/));
    await page.close();
  });

  test("j, k and Enter walk, g goes, y copies the link, ? lists, the theme and the language stay", async () => {
    const page = await rig().open("#/keys");
    const { keyboard } = page;
    await page.locator("tbody tr").first().waitFor();
    for (const key of ["j", "j", "k", "j"]) await keyboard.press(key);
    const second = page.locator("tbody tr").nth(1);
    expect(await second.getAttribute("data-at")).toBe("true");
    const href = await second.locator("a.whole").getAttribute("href");
    await keyboard.press("Enter");
    await page.locator(".decide").waitFor();
    expect(await page.evaluate("location.hash")).toBe(href);
    await keyboard.press("y");
    await page.locator(".toast").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toContain(href);
    await keyboard.press("?");
    expect(await page.getByRole("dialog").textContent()).toContain("copy a link");
    await keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    for (const [letter, title] of Object.entries({ u: "Unknown", s: "Storage", o: "Outbox", d: "Doctor" })) {
      await keyboard.press("g");
      await keyboard.press(letter);
      await page.locator("#main h1", { hasText: title }).waitFor();
    }
    await page.goto(`${rig().url}#/keys`);
    await page.locator(".top").getByLabel("Language").selectOption("ja");
    await page.locator(".top").getByLabel("テーマ").selectOption("dark");
    await page.reload();
    await page.locator("#main h1", { hasText: "キー" }).waitFor();
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    await page.close();
  });

  test("a verdict is copied for the ticket and exported as Markdown, without a key in clear", async () => {
    const page = await rig().open(`#/ask?text=${rig().bed.keys.paid}`);
    await page.getByRole("button", { name: "Copy for the ticket" }).click();
    await page.locator(".toast").waitFor();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(copied).toContain("two-keys-one-intent");
    expect(copied).not.toContain(rig().bed.keys.paid);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export as Markdown" }).click();
    expect(readFileSync(await (await download).path(), "utf8")).toBe(copied);
    await go(page, "#/ask?text=nobody-knows-this");
    await page.locator(".verdict", { hasText: "Nothing is known by this name" }).waitFor();
    await page.close();
  });

  test("a key that is pasted stands in no address that is asked for, and in no link that is handed on", async () => {
    const page = await rig().open("#/ask");
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(request.url()));
    await page.locator("#ask").fill(rig().bed.keys.stuck);
    await page.keyboard.press("Enter");
    await page.locator(".verdict").waitFor();
    await page.keyboard.press("y");
    await page.locator(".toast").waitFor();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(link).toMatch(/#\/keys\/./);
    await go(page, "#/keys?label=customer%3D42");
    await page.locator("tbody tr").first().waitFor();
    expect(asked.length).toBeGreaterThan(1);
    expect([...asked, link].filter((each) => each.includes(rig().bed.keys.stuck) || each.includes("customer"))).toEqual(
      [],
    );
    await page.goto(link);
    await page.locator(".decide").waitFor();
    await page.close();
  });

  test("what is typed right after Enter stays in the field", async () => {
    const page = await rig().open("#/ask");
    await page.locator("#ask").fill("42");
    await page.evaluate(`(async () => {
      const field = document.querySelector("#ask");
      const asked = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
      field.form.requestSubmit();
      await asked;
      await new Promise((resolve) => queueMicrotask(resolve));
      field.value = "43";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    })()`);
    await page.locator(".verdict").waitFor();
    expect(await page.locator("#ask").inputValue()).toBe("43");
    await page.close();
  });

  test("Live shows a request within seconds; a pause keeps the rows, and says how many wait", async () => {
    const page = await rig().open("#/live");
    await page.locator(".empty", { hasText: "Waiting" }).waitFor();
    await rig().bed.paidKey();
    await page.locator("tbody tr", { hasText: "executed" }).first().waitFor();
    await page.keyboard.press("p");
    await holds(page, "location.hash.includes('paused')");
    const shown = await page.locator("tbody tr").count();
    await rig().bed.paidKey();
    const resume = page.getByRole("button", { name: /Go on \(1 waiting\)/ });
    await resume.waitFor();
    expect(await page.locator("tbody tr").count()).toBe(shown);
    await resume.click();
    await holds(page, `document.querySelectorAll("tbody tr").length === ${shown + 1}`);
    await page.close();
  });

  test("letters are replayed and discarded in bulk after a preview; relays are paused and resumed", async () => {
    await rig().bed.giveUp();
    const page = await rig().open("#/inbox");
    await page.locator("tbody tr").nth(1).waitFor();
    const replay = page.getByRole("button", { name: "Replay…" });
    expect(await replay.getAttribute("title")).toBe("Choose letters first.");
    await page.locator("tbody input[type=checkbox]").first().check();
    await page.getByRole("button", { name: "Discard 1…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.locator("li", { hasText: "will be done" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Choose all/ }).click();
    await page.getByRole("button", { name: /^Discard \d…/ }).click();
    await dialog.locator("li").nth(1).waitFor();
    await page.getByLabel("Reason").fill("ticket 4715: a test");
    await dialog.getByRole("button", { name: /^Discard/ }).click();
    await page.locator(".empty", { hasText: "No dead letters" }).waitFor();
    expect((await rig().bed.inbox.stats()).dead).toBe(0);

    await go(page, "#/outbox");
    await settled(page);
    await page.getByRole("button", { name: "Pause relays" }).click();
    await page.getByLabel("Reason").fill("ticket 4716: broker moves");
    await dialog.getByRole("button", { name: "Pause relays" }).click();
    await page.locator(".note", { hasText: "ticket 4716" }).waitFor();
    await page.getByRole("button", { name: "Resume relays" }).click();
    await page.getByLabel("Reason").fill("moved");
    await dialog.getByRole("button", { name: "Resume relays" }).click();
    await page.locator(".note").first().waitFor({ state: "detached" });
    await page.close();
  });

  test("what the provider says of an open outcome is asked again on demand, also of those far down", async () => {
    for (let number = 0; number < 20; number += 1) await rig().bed.stuckKey();
    const page = await rig().open("#/unknown");
    const row = page.locator("tbody tr").first();
    await row.getByText("nothing happened").waitFor();
    await row.getByText(/^asked/).waitFor();
    rig().bed.charges = [{ id: "ch_9", amount: 42 }];
    await row.getByRole("button", { name: "Ask again" }).click();
    await row.getByText("1 effect").waitFor();
    rig().bed.charges = [];
    const last = page.locator("tbody tr").last();
    await last.getByRole("button", { name: "Ask the provider" }).click();
    await last.getByText("nothing happened").waitFor();
    await page.close();
  });

  test("times of others that are none, and an answer that makes no sense, take no screen with them", async () => {
    const page = await rig().open("#/outbox");
    await page.route("**/api/outbox/dead/*", async (route) => {
      const body = await (await route.fetch()).text();
      await route.fulfill({ contentType: "application/json", body: body.replace(/"time":"[^"]*"/, '"time":"soon"') });
    });
    await page.route("**/api/storage", (route) => route.fulfill({ contentType: "application/json", body: "{}" }));
    await page.locator("td a.whole").first().click();
    await page.locator(".facts", { hasText: "order.paid" }).waitFor();
    await go(page, "#/storage");
    await page.getByRole("alert").filter({ hasText: "Something went wrong" }).waitFor();
    await go(page, "#/audit");
    await page.locator("#main h1", { hasText: "Audit" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.close();
  });
});
