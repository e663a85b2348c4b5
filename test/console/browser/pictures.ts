/**
 * `npm run console:pictures [-- NAME…]`: the pictures of docs/guide/console.md, taken from a real shop to which real
 * things happen. The one of Storage needs ten minutes of samples: `-- storage` pays now and then for twelve.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium, type Page } from "playwright-core";
import { console as desk } from "ichido/console";
import type { Inbox } from "ichido/inbox";
import { openBed, tokenOf, type Bed } from "../../../apps/shop/incidents/bed.ts";
import { findBrowser } from "../../../scripts/services/binaries.ts";

const bytesMax = 150_000;
const samplesMs = 12 * 60_000;
const images = join(import.meta.dirname, "../../../docs/guide/images");
const customers = Array.from({ length: 40 }, (_, at) => `cus_${at + 10}`);
const desktop = { width: 1_200, height: 900 };
const phone = { width: 375, height: 760 };

interface Picture {
  readonly place: string;
  readonly query: string;
  readonly viewport: { readonly width: number; readonly height: number };
}

const pictures: Readonly<Record<string, Picture>> = {
  "console-ask": { place: "#/ask?text=cus_42", query: "theme=light&lang=en", viewport: desktop },
  "console-key": { place: "#/ask?text=cus_43", query: "theme=dark&lang=en", viewport: { ...desktop, height: 720 } },
  "console-unknown-ja": { place: "#/unknown", query: "theme=light&lang=ja", viewport: phone },
  "console-storage": { place: "#/storage", query: "theme=light&lang=en", viewport: { ...desktop, height: 560 } },
};

async function pay(url: string, customer: string, amount: number, key: string = randomUUID()): Promise<Response> {
  const headers = {
    authorization: `Bearer ${tokenOf(customer)}`,
    "idempotency-key": key,
    "content-type": "application/json",
  };
  const body = JSON.stringify({ bookingId: `bk_${amount}`, amount, currency: "EUR" });
  return fetch(`${url}/payments`, { method: "POST", headers, body });
}

async function fault(bed: Bed, setting: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  await fetch(`${bed.bankUrl}/faults`, { method: "POST", headers, body: JSON.stringify(setting) });
}

/** The client made a second key when the page was loaded again. */
async function twoKeys(bed: Bed): Promise<void> {
  const key = randomUUID();
  await pay(bed.url, "cus_42", 4_200, key);
  for (const pauseMs of [1_400, 2_300]) {
    await sleep(pauseMs);
    await pay(bed.url, "cus_42", 4_200, key);
  }
  await sleep(4_100);
  await pay(bed.url, "cus_42", 4_200);
}

const leasePastMs = 31_000;

/** Killed when the bank has charged and not answered; the client asks again meanwhile. */
async function crash(bed: Bed): Promise<void> {
  const other = await bed.startOther();
  await fault(bed, { mode: "timeout-but-charge", calls: 3, delayMs: 60_000 });
  const key = randomUUID();
  const open = Promise.allSettled([
    pay(other.url, "cus_43", 1_999, key),
    pay(other.url, "cus_17", 7_717),
    pay(other.url, "cus_31", 7_731),
  ]);
  await sleep(2_600);
  await other.kill();
  await open;
  for (const pauseMs of [900, 4_000, 9_000]) {
    await sleep(pauseMs);
    await pay(bed.url, "cus_43", 1_999, key);
  }
  await sleep(leasePastMs - 13_900);
}

async function happen(bed: Bed): Promise<void> {
  const others = customers.filter((customer) => customer !== "cus_42" && customer !== "cus_43");
  for (const [at, customer] of others.entries()) {
    const key = randomUUID();
    await pay(bed.url, customer, 10_000 + at, key);
    if (at % 4 === 0) await pay(bed.url, customer, 10_000 + at, key);
  }
  await twoKeys(bed);
  await crash(bed);
}

/** Orders now and then, so that there is something to count. */
async function trade(bed: Bed): Promise<void> {
  const untilMs = Date.now() + samplesMs;
  for (let number = 0; Date.now() < untilMs; number += 1) {
    await pay(bed.url, customers[number % customers.length] ?? "", 50_000 + number);
    await sleep(500 + 400 * Math.sin(number / 60));
  }
}

async function settled(page: Page, name: string): Promise<void> {
  await page.waitForLoadState("networkidle");
  if (name !== "console-key") return;
  await page.locator("table a.whole").first().click();
  await page.locator(".lanes").waitFor();
  await page.waitForLoadState("networkidle");
}

async function take(page: Page, name: string): Promise<void> {
  const path = join(images, `${name}.png`);
  await page.screenshot({ path, animations: "disabled" });
  const { size } = statSync(path);
  if (size > bytesMax) throw new Error(`${path} has ${size} bytes, more than ${bytesMax}`);
  console.log(`${name}.png ${Math.round(size / 1_000)} kB`);
}

const wanted = process.argv.slice(2).map((name) => `console-${name}`);
const folder = mkdtempSync(join(tmpdir(), "ichido-pictures-"));
const bed = await openBed(folder, customers);
const open = desk(bed.ichido, {
  authorize: () => ({ user: "hana@acme.example", can: ["read", "reveal", "settle", "events", "erase"] }),
  environmentName: "staging",
  inbox: bed.inbox as Inbox<never>,
  at: "/console",
});
const server = createServer(open);
const browser = await chromium.launch({ executablePath: findBrowser() ?? "chromium", args: ["--no-sandbox"] });
try {
  mkdirSync(images, { recursive: true });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/console/`;
  const names = Object.keys(pictures).filter((name) =>
    wanted.length === 0 ? name !== "console-storage" : wanted.includes(name),
  );
  if (names.some((name) => name !== "console-storage")) await happen(bed);
  if (names.includes("console-storage")) await trade(bed);
  for (const name of names) {
    const { place, query, viewport } = pictures[name] ?? { place: "", query: "", viewport: desktop };
    const page = await browser.newPage({ viewport });
    await page.goto(`${url}?${query}&zone=utc${place}`);
    await settled(page, name);
    await take(page, name);
    await page.close();
  }
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
  open.close();
  await bed.close();
  rmSync(folder, { recursive: true, force: true });
}
