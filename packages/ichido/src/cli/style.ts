/** Colours, where a person looks and wants them. */
import { styleText } from "node:util";

export type Style = "red" | "green" | "yellow" | "cyan" | "dim" | "bold";

/** https://no-color.org: any value but an empty one means no. */
export function wantsColours(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

export function painter(colours: boolean): (text: string, style: Style | undefined) => string {
  if (!colours) return (text) => text;
  return (text, style) =>
    style === undefined || text.trim() === "" ? text : styleText(style, text, { validateStream: false });
}
