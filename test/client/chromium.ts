/** A headless Chromium for tests: the one in CHROMIUM_PATH, one that is installed, or Debian's, which root may install. */
import { chromium, type Browser } from "playwright-core";
import { findBrowser, requireProgram } from "../../scripts/services/binaries.ts";
import { describeWith } from "../support/services.ts";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

export function describeInChromium(title: string, suite: (launch: () => Promise<Browser>) => void): void {
  describeWith("browser", title, () => {
    const executablePath = findBrowser() ?? requireProgram("browser", "chromium-headless-shell");
    suite(() => chromium.launch({ executablePath, headless: true, args: flags }));
  });
}
