/** The adapter suite on Express 4 and 5, each on every store. */
import { adapterSuite } from "ichido/testing";
import { describe, it } from "vitest";
import { expressSubject, frameworks } from "./express-app.ts";
import { storeParts } from "./stores.ts";

/** Most cases wait more than they work. The limit is for a busy machine. */
const concurrently = (title: string, body: () => Promise<void>): void => it.concurrent(title, body, 120_000);

for (const framework of Object.keys(frameworks)) {
  for (const [store, part] of Object.entries(storeParts(framework))) {
    adapterSuite(
      { describe, it: Object.assign(concurrently, { skip: it.skip }) },
      { name: `${framework} on ${store}`, ...expressSubject(framework), ...part },
    );
  }
}
