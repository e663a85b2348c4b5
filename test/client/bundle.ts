/** Bundles a module as a browser would get it: minified, without what is not used. */
import { rolldown } from "rolldown";

/** `entry`: the path of a file, or `code:` and the text of a module. */
export async function bundleForBrowser(
  entry: string,
  mode: "production" | "development" = "production",
): Promise<string> {
  const code = entry.startsWith("code:") ? entry.slice("code:".length) : undefined;
  const bundle = await rolldown({
    input: code === undefined ? entry : "virtual:entry",
    platform: "browser",
    resolve: { conditionNames: ["ichido-source", "browser", "import", "module", "default"] },
    transform: { define: { "process.env.NODE_ENV": JSON.stringify(mode) } },
    logLevel: "silent",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "virtual:entry" ? { id: new URL("entry.js", import.meta.url).pathname } : undefined),
        load: (id) => (code !== undefined && id.endsWith("/test/client/entry.js") ? code : undefined),
      },
    ],
  });
  try {
    const { output } = await bundle.generate({ format: "esm", minify: true, comments: false });
    return output.map((file) => ("code" in file ? file.code : "")).join("\n");
  } finally {
    await bundle.close();
  }
}
