/** The adapter suite on one framework, with the stores it is tried on. */
import { adapterSuite } from "ichido/testing";
import { describe, it } from "vitest";
import { storeParts } from "./stores.ts";
import { subjectOf, type FrameworkName } from "./subjects.ts";

/** Most cases wait more than they work. The limit is for a busy machine. */
const concurrently = (title: string, body: () => Promise<void>): void => it.concurrent(title, body, 120_000);

/**
 * Every framework runs on SQLite, which has transactions and is seen by other processes. Memory shows nothing more about
 * an adapter: the usual run tries it with the suite over HTTP/2 alone, `npm run test:full` with every framework.
 */
const full = process.env["ICHIDO_FULL"] === "1";
const chosen = process.env["ICHIDO_FRAMEWORK"];

export async function tryFramework(name: FrameworkName): Promise<void> {
  if (chosen !== undefined && chosen !== name) return;
  const subject = await subjectOf(name);
  for (const [store, part] of Object.entries(storeParts(name))) {
    if (!full && store === "memory") continue;
    adapterSuite(
      { describe, it: Object.assign(concurrently, { skip: it.skip }) },
      { name: `${name} on ${store}`, ...part, ...subject },
    );
  }
}
