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

/** `variables`: more of its environment. */
export type Launch = (variables?: Readonly<Record<string, string>>) => Promise<Browser>;

export function describeInChromium(title: string, suite: (launch: Launch) => void): void {
  describeWith("browser", title, () => {
    const executablePath = findBrowser() ?? requireProgram("browser", "chromium-headless-shell");
    suite((variables = {}) => {
      const env = { ...process.env, ...variables } as Record<string, string>;
      return chromium.launch({ executablePath, headless: true, args: flags, env });
    });
  });
}
