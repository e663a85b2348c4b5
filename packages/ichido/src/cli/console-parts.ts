/** What a console of the command line is on: opened when the store answers, asked again until it does. */
import { setTimeout as sleep } from "node:timers/promises";
import { present } from "../core/contract/present.ts";
import type { Io } from "./command.ts";
import { endingOf, exitCodes } from "./exit-codes.ts";
import { openProject, type Project, type ProjectFlags } from "./project.ts";

const everyMs = 2_000;

/** An address does not tell which events the program has: those whose tables are there. */
async function withTables<Part extends { plan(): Promise<readonly unknown[]> }>(
  part: Part | undefined,
): Promise<Part | undefined> {
  if (part === undefined) return undefined;
  const missing = await part.plan().catch(() => [part]);
  return missing.length === 0 ? part : undefined;
}

export async function eventsOf({ ichido, outbox, inbox }: Project): Promise<Pick<Project, "outbox" | "inbox">> {
  if (ichido !== undefined) return present({ outbox, inbox });
  return present({ outbox: await withTables(outbox), inbox: await withTables(inbox) });
}

/** Tells every reason why not. What no waiting mends is thrown. */
export async function openWhenThere(
  flags: ProjectFlags,
  io: Io,
  tell: (problem: string) => void,
): Promise<Project | undefined> {
  let project: Project | undefined;
  while (!io.signal.aborted) {
    try {
      project ??= await openProject(flags, io);
      await project.store.ping();
      return project;
    } catch (error) {
      const { exitCode, message } = endingOf(error);
      if (exitCode !== exitCodes.unreachable) {
        await project?.close();
        throw error;
      }
      tell(message);
    }
    await sleep(everyMs, undefined, { signal: io.signal }).catch(() => undefined);
  }
  await project?.close();
  return undefined;
}
