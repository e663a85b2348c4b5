/** The files of the lanes and of their buyers, as they run: what the page shows is read from disk, not retold. */
import { readFile } from "node:fs/promises";
import type { LaneName } from "./contract.ts";

interface Source {
  readonly path: string;
  /** It runs for one lane alone: every line of it is a difference. */
  readonly only?: LaneName;
  /** Its counterpart in the other lane: lines that both have are none. */
  readonly beside?: string;
}

const sources: readonly Source[] = [
  { path: "lane/take-payment.ts" },
  { path: "lane/unprotected.ts", only: "unprotected", beside: "lane/protected.ts" },
  { path: "lane/protected.ts", only: "protected", beside: "lane/unprotected.ts" },
  { path: "lane/engine.ts", only: "protected" },
  { path: "lane/ask-bank.ts", only: "protected" },
  { path: "plain-buyer.ts", only: "unprotected" },
  { path: "keyed-buyer.ts", only: "protected" },
];

export interface ShownFile {
  readonly name: string;
  /** Absent: both lanes run it. */
  readonly only?: LaneName;
  readonly lines: readonly { readonly text: string; readonly isOnlyHere: boolean }[];
}

export async function codeShown(): Promise<readonly ShownFile[]> {
  return Promise.all(
    sources.map(async ({ path, only, beside }) => {
      const known = beside === undefined ? undefined : await linesOf(beside);
      const lines = (await linesOf(path)).map((text) => ({
        text,
        isOnlyHere: only !== undefined && known?.includes(text) !== true,
      }));
      return { name: path.replace("lane/", ""), ...(only === undefined ? {} : { only }), lines };
    }),
  );
}

async function linesOf(path: string): Promise<readonly string[]> {
  return (await readFile(new URL(path, import.meta.url), "utf8")).trimEnd().split("\n");
}
