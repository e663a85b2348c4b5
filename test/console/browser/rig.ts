/** A console on a real database under a prefix, and pages that look at it: whatever they say or ask for is noted. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { console as desk, type ConsoleEngine, type ConsoleOptions, type Permission } from "ichido/console";
import { describeInChromium } from "../../client/chromium.ts";
import type { Bed } from "../bed.ts";
import { forEachDatabase } from "../databases.ts";
import { all } from "../visitor.ts";

const waitMs = 15_000;
export const desktop = { width: 1_280, height: 860 };
export const phone = { width: 375, height: 760 };

/** By the header that a proxy would set. `nobody` is not let in. */
const users: Readonly<Record<string, readonly Permission[]>> = { ann: all, ben: all, eve: ["read"] };

export interface Look {
  /** Another console. */
  readonly at?: string;
  readonly user?: string;
  readonly theme?: "light" | "dark";
  readonly lang?: "en" | "ja";
  readonly viewport?: { readonly width: number; readonly height: number };
}

export interface Rig {
  readonly bed: Bed;
  readonly url: string;
  readonly browser: Browser;
  /** Ends with everything that was wrong in any page: must be empty. */
  readonly complaints: string[];
  open(place: string, look?: Look): Promise<Page>;
  /** From now on this user may do so much. */
  permit(user: string, can: readonly Permission[] | undefined): void;
  close(): void;
}

function watch(page: Page, origin: string, complaints: string[]): void {
  page.setDefaultTimeout(waitMs);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => void complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`a script of the store ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith("blob:"))
      complaints.push(`asked elsewhere: ${request.url()}`);
  });
}

export interface Served {
  readonly url: string;
  readonly close: () => void;
}

/** Under a prefix, as behind a proxy. */
export async function serve(engine: ConsoleEngine, options: ConsoleOptions<IncomingMessage>): Promise<Served> {
  const at = "/behind/a/proxy/console";
  const open = desk<IncomingMessage>(engine, { ...options, at });
  const server = createServer(open).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${at}/`,
    close() {
      server.closeAllConnections();
      server.close();
      open.close();
    },
  };
}

export async function openPage(
  browser: Browser,
  url: string,
  complaints: string[],
  place: string,
  look: Look,
): Promise<Page> {
  const { user = "ann", theme = "light", lang = "en", viewport = desktop } = look;
  const context = await browser.newContext({
    viewport,
    extraHTTPHeaders: { "x-user": user },
    acceptDownloads: true,
    reducedMotion: "reduce",
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  watch(page, new URL(url).origin, complaints);
  await page.goto(`${url}?theme=${theme}&lang=${lang}&zone=utc${place}`);
  await page.locator("#main h1, #main [role=alert]").first().waitFor();
  return page;
}

async function startRig(bed: Bed, browser: Browser): Promise<Rig> {
  const permitted = new Map<string, readonly Permission[] | undefined>(Object.entries(users));
  const { url, close } = await serve(bed.ichido, {
    authorize: ({ headers }) => {
      const user = String(headers["x-user"]);
      const can = permitted.get(user);
      return can && { user, can };
    },
    environmentName: "staging",
    outbox: bed.outbox,
    inbox: bed.inbox,
  });
  const complaints: string[] = [];
  return {
    bed,
    url,
    browser,
    complaints,
    open: (place, { at = url, ...look } = {}) => openPage(browser, at, complaints, place, look),
    permit: (user, can) => void permitted.set(user, can),
    close,
  };
}

/** One browser for all; the same tests on SQLite and PostgreSQL. */
export function describeConsole(title: string, tests: (rig: () => Rig) => void): void {
  describeInChromium(title, (launch) => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await launch();
    }, 60_000);
    afterAll(async () => {
      await browser?.close();
    });
    forEachDatabase("the console", (bed) => {
      let rig: Rig;
      beforeAll(async () => {
        rig = await startRig(bed(), browser);
      });
      afterAll(async () => {
        for (const context of browser.contexts()) await context.close();
        rig?.close();
        expect(rig?.complaints).toEqual([]);
      });
      tests(() => rig);
    });
  });
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** What axe calls serious or critical on the page as it is now. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource);
  const violations = await page.evaluate<readonly Violation[]>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(" ")} ${failureSummary}`),
    );
}

/** To another place in the same page, as a link would. */
export async function go(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(place.replace(/^#/, ""))}`);
}

/** Nothing is being loaded any more, and nothing failed. */
export async function settled(page: Page): Promise<void> {
  await page.locator(".bars").first().waitFor({ state: "detached" });
}

/** Asked from here: `waitForFunction` would evaluate its text in the page, whose policy allows that once at most. */
export async function holds(page: Page, expression: string): Promise<void> {
  await expect.poll(() => page.evaluate(expression), { timeout: waitMs, message: expression }).toBe(true);
}
