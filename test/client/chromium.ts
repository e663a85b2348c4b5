/**
 * A headless Chromium for tests: the one in CHROMIUM_PATH, the one that is installed, or Debian's, which root may install
 * (ICHIDO_NO_INSTALL=1 turns that off). Elsewhere the tests are skipped loudly, and fail where services are required.
 */
import { spawn } from "node:child_process";
import { chromium, type Browser } from "playwright-core";
import { describe, test } from "vitest";
import { findProgram } from "../../scripts/services/binaries.ts";
import { installRefusal } from "../../scripts/services/install.ts";
import { servicesRequired } from "../support/services.ts";

const programs = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const aptMs = 600_000;

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

const installed = (): string | undefined => programs.map(findProgram).find((path) => path !== undefined);

async function apt(...args: readonly string[]): Promise<void> {
  const child = spawn("apt-get", ["-o", "DPkg::Lock::Timeout=300", "-q", "-y", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: aptMs,
  });
  let printed = "";
  child.stdout.on("data", (text) => (printed += String(text)));
  child.stderr.on("data", (text) => (printed += String(text)));
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`apt-get ${args[0]} ended with ${String(code)}: ${printed.slice(-500)}`);
}

async function findChromium(): Promise<{ readonly path: string } | { readonly reason: string }> {
  const given = process.env["CHROMIUM_PATH"];
  if (given !== undefined && given !== "") return { path: given };
  const present = installed();
  if (present !== undefined) return { path: present };
  const refusal = installRefusal();
  if (refusal !== undefined) return { reason: `no Chromium, and ${refusal}` };
  try {
    console.log("[services] installing chromium with apt-get (ICHIDO_NO_INSTALL=1 turns this off)");
    await apt("update");
    await apt("install", "--no-install-recommends", "chromium");
  } catch (error) {
    return { reason: `no Chromium: ${error instanceof Error ? error.message : String(error)}` };
  }
  const path = installed();
  return path === undefined ? { reason: "apt-get succeeded, yet Chromium cannot be found" } : { path };
}

export function describeInChromium(title: string, suite: (launch: () => Promise<Browser>) => void): void {
  describe(title, async () => {
    const found = await findChromium();
    if ("path" in found) {
      suite(() => chromium.launch({ executablePath: found.path, headless: true, args: flags }));
    } else if (servicesRequired()) {
      test("needs Chromium", () => {
        throw new Error(found.reason);
      });
    } else {
      console.warn(`[services] chromium: MISSING, ${found.reason}`);
      test.skip(`SKIPPED: ${found.reason}`, () => {});
    }
  });
}
