/** The incidents of a real shop, asked for as a ticket would: the page says what `why` says. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Inbox } from "ichido/inbox";
import { enVerdict } from "../../../apps/console/src/i18n/en-verdict.ts";
import { openBed, type Bed, type BedDatabase } from "../../../apps/shop/incidents/bed.ts";
import { customersFor, seed, type Ticket } from "../../../apps/shop/incidents/seed.ts";
import { openPostgres } from "../../../apps/shop/src/database/postgres.ts";
import { describeInChromium } from "../../client/chromium.ts";
import { addMovableClock, moveClock } from "../../support/movable-clock.ts";
import { describeWith, freshDatabase } from "../../support/services.ts";
import { all } from "../visitor.ts";
import { openPage, serve, type Served } from "./rig.ts";

const set = { ordinary: 4, repeats: 2, each: 1 };

/** What a person would type: an amount stands with its time. */
function typed({ question: { text, amount, atMs } }: Ticket): string {
  const at = atMs === undefined ? undefined : new Date(atMs).toISOString();
  return [text, amount, at].filter((part) => part !== undefined).join(" ");
}

/** The address changes before the page does: the verdict of the ticket before is marked, and is not the one waited for. */
async function ask(page: Page, ticket: Ticket): Promise<string> {
  await page.evaluate("document.querySelector('.verdict')?.setAttribute('data-before', '')");
  await page.locator("#ask").fill(typed(ticket));
  await page.locator("#ask").press("Enter");
  return (await page.locator(".verdict:not([data-before]) h1").textContent()) ?? "";
}

async function postgresAt(serverUrl: string): Promise<BedDatabase> {
  const fresh = await freshDatabase(serverUrl);
  const admin = new pg.Client({ connectionString: fresh.url });
  await admin.connect();
  await addMovableClock(admin, fresh.name);
  const database = await openPostgres(fresh.url);
  return {
    url: fresh.url,
    moveTo: (aheadMs) => moveClock(admin, aheadMs),
    database: {
      ...database,
      async close() {
        await database.close();
        await admin.end();
        await fresh.drop();
      },
    },
  };
}

function testIncidents(browser: () => Browser, open?: () => Promise<BedDatabase>): void {
  const folder = mkdtempSync(join(tmpdir(), "ichido-console-"));
  const complaints: string[] = [];
  let bed: Bed;
  let tickets: readonly Ticket[] = [];
  const consoles: Served[] = [];

  beforeAll(async () => {
    bed = await openBed(folder, customersFor(set), open);
    tickets = await seed(bed, set);
    for (const ichido of [bed.ichido, bed.blind()])
      consoles.push(
        await serve(ichido, { authorize: () => ({ user: "ann", can: all }), inbox: bed.inbox as Inbox<never> }),
      );
  }, 60_000);
  afterAll(async () => {
    for (const context of browser().contexts()) await context.close();
    for (const { close } of consoles) close();
    await bed?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("every kind of ticket is typed into the field and gets its verdict, with who counted and what happened", async () => {
    const urls = consoles.map(({ url }) => url);
    const pages = await Promise.all(urls.map((url) => openPage(browser(), url, complaints, "#/ask", {})));
    const given: string[] = [];
    for (const ticket of tickets) {
      const page = pages[ticket.blind === true ? 1 : 0] as Page;
      given.push(`${ticket.kind}: ${await ask(page, ticket)}`);
      expect(await page.locator(".lanes .bar, .lanes .mark").count(), ticket.kind).toBeGreaterThan(0);
    }
    expect(given).toEqual(tickets.map(({ kind, expected }) => `${kind}: ${enVerdict.verdicts[expected]}`));
    expect(new Set(tickets.map(({ kind }) => kind)).size).toBe(11);
    expect(complaints).toEqual([]);
  });
}

describeInChromium("the incidents of the shop, in the console", (launch) => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
  });
  describe("on SQLite", () => testIncidents(() => browser));
  describeWith("postgres", "on PostgreSQL", (url) =>
    testIncidents(
      () => browser,
      () => postgresAt(url),
    ),
  );
});
