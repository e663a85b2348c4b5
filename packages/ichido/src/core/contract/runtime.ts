/** Which runtime ichido runs on. Checked at the first use of an engine, not when the engine is made. */
import { IchidoError } from "./errors.ts";

const nodeMin = [22, 18] as const;

/** Bun, Deno and Workers report the version of Node that they resemble, and not all of them a recent one. */
function isNode(versions: Readonly<Record<string, string | undefined>>): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };
  return (
    versions["bun"] === undefined &&
    versions["deno"] === undefined &&
    navigator?.userAgent !== "Cloudflare-Workers" &&
    versions["node"] !== undefined
  );
}

/** Without this check an older Node would fail later, at some function that it does not have. */
export function requireRuntime(): void {
  const { process } = globalThis as { readonly process?: Partial<typeof globalThis.process> };
  const versions: Readonly<Record<string, string | undefined>> = process?.versions ?? {};
  if (!isNode(versions)) return;
  const [major = 0, minor = 0] = (versions["node"] ?? "").split(".").map(Number);
  if (major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1])) return;
  throw new IchidoError(
    "runtime-unsupported",
    `this is Node.js ${versions["node"]}; ichido needs ${nodeMin.join(".")} or later`,
  );
}

/** As a process warning on Node, on the console elsewhere. */
export function warnUser(message: string, code?: string): void {
  const { process } = globalThis as { readonly process?: Partial<typeof globalThis.process> };
  const options = { type: "IchidoWarning", ...(code === undefined ? {} : { code }) };
  if (typeof process?.emitWarning === "function") process.emitWarning(message, options);
  else console.warn(`[${code ?? options.type}] ${message}`);
}
