/** A form's key from the served page through hydration, in a real browser. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import express from "express";
import type { Browser, Page } from "playwright-core";
import { createElement, type ComponentProps } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createIchido, IchidoError, type Ichido } from "ichido";
import { memoryStore } from "ichido/memory";
import { eventually } from "../support/eventually.ts";
import { bundleForBrowser } from "./bundle.ts";
import { describeInChromium } from "./chromium.ts";
import { OrderForm } from "./pages/order-form.ts";

type Props = ComponentProps<typeof OrderForm>;
interface Submission {
  readonly key: string;
  readonly answer: string;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f-]{17}$/;

describeInChromium("in a browser, a form has one key", (launch) => {
  let server: Server;
  let browser: Browser;
  let ichido: Ichido<never>;
  let url = "";
  let effects = 0;
  const submitted: Submission[] = [];
  /** What the server renders, and what the browser is given to hydrate it. */
  let served: { readonly server: Props; readonly browser: Props } = { server: {}, browser: {} };

  beforeAll(async () => {
    const entry = fileURLToPath(new URL("pages/form-page.ts", import.meta.url));
    // React's development build tells of hydration that does not match.
    const [script, launched] = await Promise.all([bundleForBrowser(entry, "development"), launch()]);
    browser = launched;
    ichido = createIchido<never>({ store: memoryStore(), scope: () => ({ tenant: "t" }), onUnknown: "rerun" });
    const app = express();
    app.get("/form-page.js", (_req, res) => void res.type("text/javascript").send(script));
    app.get("/form", (_req, res) => {
      const html = renderToString(createElement(OrderForm, served.server));
      const props = JSON.stringify(served.browser).replaceAll('"', "&quot;");
      res.send(
        `<!doctype html><title>Order</title><link rel="icon" href="data:,"><div id="root" data-props="${props}">${html}</div>` +
          '<iframe name="answer"></iframe><script type="module" src="/form-page.js"></script>',
      );
    });
    app.post("/orders", express.urlencoded(), async (req, res) => {
      const { idempotencyKey: key, amount } = req.body as { idempotencyKey: string; amount: string };
      const request = { operation: "order.create", scope: { tenant: "t" }, key, input: amount };
      const answer = await ichido
        .run(request, () => String((effects += 1)))
        .then(({ value }) => value)
        .catch((error: unknown) => (error instanceof IchidoError ? error.code : String(error)));
      submitted.push({ key, answer });
      res.send(answer);
    });
    server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/form`;
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
    await ichido?.close();
  });

  const errors: string[] = [];
  async function open(props: Props, inBrowser: Props = props): Promise<Page> {
    served = { server: props, browser: inBrowser };
    submitted.length = errors.length = effects = 0;
    const page = await browser.newPage();
    page.on("console", (message) => void (message.type() === "error" && errors.push(message.text())));
    page.on("pageerror", (error) => void errors.push(String(error)));
    await page.goto(url);
    await page.waitForFunction("globalThis.hydrateNow !== undefined");
    return page;
  }
  const keyIn = (page: Page): Promise<unknown> =>
    page.evaluate('new FormData(document.querySelector("#form")).get("idempotencyKey")');
  async function hydrate(page: Page): Promise<void> {
    await page.evaluate("void hydrateNow()");
    await page.waitForFunction('Object.keys(document.querySelector("#form")).some((key) => key.startsWith("__react"))');
    await page.waitForFunction('document.querySelector("[name=idempotencyKey]").value !== ""');
  }
  async function order(page: Page, count: number): Promise<Submission | undefined> {
    await page.click("#order");
    await eventually(() => expect(submitted).toHaveLength(count));
    return submitted.at(-1);
  }

  it.each([
    ["given by the server", { defaultValue: randomUUID() }, undefined],
    ["of an attempt of one's own", { value: "attempt-7" }, undefined],
    ["made anew at the hydration: the one that was served stays", { defaultValue: randomUUID() }, randomUUID()],
  ] as const)("%s: submissions before and after hydration carry it, one effect", async (_, props, anew) => {
    const page = await open(props, anew === undefined ? props : { defaultValue: anew });
    const key = Object.values(props)[0];
    expect(await keyIn(page)).toBe(key);
    await order(page, 1);
    await hydrate(page);
    expect(await keyIn(page)).toBe(key);
    await order(page, 2);
    expect(submitted).toEqual([
      { key, answer: "1" },
      { key, answer: "1" },
    ]);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("no key is served where none is given per request: refused before the script, made by it, another for each visit", async () => {
    const html = renderToString(createElement(OrderForm, {}));
    expect(html).toContain('name="idempotencyKey"');
    expect(html).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/);
    const keys = new Set<unknown>();
    for (const _visit of [1, 2]) {
      const page = await open({});
      expect(await order(page, 1)).toEqual({ key: "", answer: "idempotency-key-invalid" });
      await hydrate(page);
      const first = await order(page, 2);
      expect(first?.key).toMatch(uuid);
      expect(await order(page, 3)).toEqual(first);
      expect(effects).toBe(1);
      keys.add(first?.key);
      expect(errors).toEqual([]);
      await page.close();
    }
    expect(keys.size).toBe(2);
  });

  it("stays over renders and resets, and is another when the intent is over", async () => {
    const given = randomUUID();
    const page = await open({ defaultValue: given });
    await hydrate(page);
    await page.evaluate('document.querySelector("#form").reset()');
    expect(await keyIn(page)).toBe(given);
    await page.click("#next");
    await eventually(async () => expect(await keyIn(page)).not.toBe(given));
    const next = await keyIn(page);
    expect(next).toMatch(uuid);
    await page.evaluate('document.querySelector("#form").reset()');
    expect(await keyIn(page)).toBe(next);
    expect(errors).toEqual([]);
    await page.close();
  });
});
