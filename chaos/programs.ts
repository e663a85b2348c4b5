/** The programs of a run, each made of a source in one file. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inOneFile } from "../test/support/in-one-file.ts";

/** The source that the processes run, and how to be rid of it. */
export interface Source {
  readonly root: string;
  remove(): void;
}

export const programIn = ({ root }: Source, name: string): Promise<string> =>
  inOneFile(pathToFileURL(join(root, "chaos", name)));
