/** The page at `/` of the shop; its files are below `/playground/`. Nothing is inline, so that a strict policy holds. */
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "/playground/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: { conditions: ["ichido-source", "module", "browser"] },
  build: {
    outDir: "dist/page",
    emptyOutDir: true,
    target: "es2022",
    // A file that is inlined as `data:` would be refused by the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
});
