import { describe, expect, it } from "vitest";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { bankOf, pay, send, setFault, startShop } from "./support/shop.ts";

const look = (url: string, headers: Readonly<Record<string, string>> = {}) => send(url, { token: "", headers });

describe("the console of the shop", () => {
  it("is linked from the plain page, lets in who sits here, and nobody whom a proxy passes on", async () => {
    const shop = await startShop({ SHOP_DATA: newFolder() });
    expect((await look(`${shop.url}/plain`)).text).toContain('<a href="/console/">');
    const page = await look(`${shop.url}/console/`);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const session = await look(`${shop.url}/console/api/session`);
    expect(session.body).toMatchObject({ user: "local", parts: { outbox: true, inbox: true } });
    for (const headers of [{ "x-forwarded-for": "10.0.0.7" }, { "sec-fetch-site": "cross-site" }]) {
      expect((await look(`${shop.url}/console/api/keys`, headers)).status).toBe(403);
    }
  });

  it("asks for the password where one is set, and takes the name for the audit", async () => {
    const SHOP_CONSOLE_PASSWORD = "open, sesame; at once";
    const shop = await startShop({ SHOP_DATA: newFolder(), SHOP_CONSOLE_PASSWORD });
    const url = `${shop.url}/console/api/session`;
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
    const denied = await look(url);
    expect([denied.status, denied.headers.get("www-authenticate")]).toEqual([401, expect.stringMatching(/^Basic /)]);
    for (const wrong of ["ann:open", `:${SHOP_CONSOLE_PASSWORD}`, "ann"])
      expect((await look(url, basic(wrong))).status).toBe(401);
    const session = await look(url, basic(`ann:${SHOP_CONSOLE_PASSWORD}`));
    expect([session.status, session.body["user"]]).toEqual([200, "ann"]);
  });

  it.each([
    ["as lines, the default", {}],
    ["as JSON", { SHOP_LOG: "json" }],
  ])("is what the log line of an open outcome links to, and no customer's answer: %s", async (_, log) => {
    const SHOP_CONSOLE_URL = "https://ops.example/console";
    const settings = { SHOP_DATA: newFolder(), ...log, GATEWAY_TIMEOUT_MS: "200", SHOP_CONSOLE_URL };
    const shop = await startShop(settings);
    await setFault(await bankOf(shop), { mode: "timeout-before-charge" });
    const answer = await pay(shop);
    expect([answer.status, answer.text.includes("ops.example")]).toEqual([202, false]);
    expect(JSON.stringify([...answer.headers])).not.toContain("ops.example");
    const handle = await until("the log has the link", async () => {
      const [, found] = /https:\/\/ops\.example\/console\/#\/keys\/([\w-]+)/.exec(shop.output.errors()) ?? [];
      return found;
    });
    const key = await look(`${shop.url}/console/api/keys/${handle}`);
    expect(key.body).toMatchObject({ record: { operation: "payment.create", state: "unknown" } });
  });
});
