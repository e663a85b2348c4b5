/** Reloads at random moments: before the request leaves, while it runs, while its answer arrives, after it was shown. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { fakeClock } from "ichido/testing";
import { describeOnSite, openPage, ready, shows } from "./site.ts";

const seed = Number(process.env["ICHIDO_SEED"] ?? 20_261_115);
const cartsEach = 15;
const reloadsEach = 2;
/** Long enough for a payment to end before the reload in about half of the cases. */
const workMsMax = 80;
const pauseMsMax = 160;

describeOnSite(`in a browser, reloads at random moments (seed ${seed})`, (rig) => {
  it.each(["plain", "react"] as const)(
    `%s: ${cartsEach * reloadsEach} of them, one effect and one key for each cart`,
    async (kind) => {
      const { site, browser } = rig;
      const { environment } = fakeClock({ seed: kind === "plain" ? seed : seed + 1 });
      const upTo = (ms: number): number => ((environment.randomBytes(1)[0] ?? 0) / 256) * ms;
      const context = await browser.newContext();
      const page = await openPage(context, site, kind, { cart: `${kind}-none` });
      const press = (): Promise<unknown> => page.evaluate('document.querySelector("#pay").click()');
      for (let at = 0; at < cartsEach; at += 1) {
        const cart = `${kind}-${at}`;
        site.takes(cart, upTo(workMsMax));
        await page.goto(`${site.url}/${kind}-page?cart=${cart}`);
        await ready(kind, page);
        for (let reload = 0; reload < reloadsEach; reload += 1) {
          await press();
          await sleep(upTo(pauseMsMax));
          await page.reload();
          await ready(kind, page);
        }
        await press();
        await shows(kind, page, "done");
        expect([cart, site.effects(cart), site.keys(cart).size]).toEqual([cart, 1, 1]);
      }
      await context.close();
    },
  );
});
