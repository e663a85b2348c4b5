/** The adapter suite on both versions of Express. */
import { tryFramework } from "./try-framework.ts";

await tryFramework("express 4");
await tryFramework("express 5");
