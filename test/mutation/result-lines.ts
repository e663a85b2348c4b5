/** A reporter for Stryker: a line of JSON for each mutant as soon as it was tried, so that a run which is stopped loses nothing. */
import { appendFileSync } from "node:fs";
import { isAbsolute, relative } from "node:path";
import type { MutantResult } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind, tokens } from "@stryker-mutator/api/plugin";
import type { Reporter } from "@stryker-mutator/api/report";

/** Tells where the lines go. */
export const linesVariable = "ICHIDO_MUTATION_LINES";

/** As much of a mutant as the page of scores tells. */
export type ResultLine = Pick<MutantResult, "fileName" | "mutatorName" | "replacement" | "status" | "location"> & {
  /** Shows only while its file is loaded. */
  readonly static: boolean;
};

class ResultLines implements Reporter {
  static readonly inject = tokens();

  onMutantTested({ fileName, mutatorName, replacement, status, location, ...mutant }: MutantResult): void {
    const path = process.env[linesVariable];
    if (path === undefined) return;
    const line: ResultLine = {
      fileName: isAbsolute(fileName) ? relative(process.cwd(), fileName) : fileName,
      mutatorName,
      replacement,
      status,
      location,
      static: mutant.static === true,
    };
    appendFileSync(path, `${JSON.stringify(line)}\n`);
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, "result-lines", ResultLines)];
