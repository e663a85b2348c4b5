/** The files of the lanes, as they run: what the page shows is read from disk, not retold. */
import { readFile } from "node:fs/promises";

const files = ["take-payment.ts", "unprotected.ts", "protected.ts", "engine.ts", "ask-bank.ts"] as const;

export interface ShownFile {
  readonly name: string;
  readonly lines: readonly { readonly text: string; readonly isOnlyHere: boolean }[];
}

/** Of the two lanes: the lines that the other one does not have. */
export async function codeShown(): Promise<readonly ShownFile[]> {
  const texts = await Promise.all(files.map((name) => readFile(new URL(`lane/${name}`, import.meta.url), "utf8")));
  const [, unprotectedText = "", protectedText = ""] = texts;
  const other: Readonly<Record<string, string>> = { "unprotected.ts": protectedText, "protected.ts": unprotectedText };
  return files.map((name, at) => {
    const known = other[name]?.split("\n");
    const lines = (texts[at] ?? "").trimEnd().split("\n");
    return { name, lines: lines.map((text) => ({ text, isOnlyHere: known !== undefined && !known.includes(text) })) };
  });
}
