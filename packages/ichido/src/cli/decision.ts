/** What every command that writes asks of a person: a reason, a name, and a look at what it is about to do. */
import { hostname, userInfo } from "node:os";
import type { AuditNote } from "../core/contract/history.ts";
import type { Store, StoredRecord } from "../core/contract/store.ts";
import type { Call, Flags, Io } from "./command.ts";
import { CommandError, UsageError } from "./exit-codes.ts";
import type { Printer } from "./printer.ts";

export const decisionFlags = {
  reason: { type: "string", value: "text", says: "why, for the audit" },
  actor: { type: "string", value: "name", says: "who decides, for the audit; default ICHIDO_ACTOR, or user@host" },
  "dry-run": { type: "boolean", says: "tells what would be done, and does nothing" },
  yes: { type: "boolean", says: "asks nothing" },
} as const satisfies Flags;

export const revealFlags = {
  reveal: { type: "boolean", says: "keys and contents in clear; noted in the audit with --reason" },
  reason: decisionFlags.reason,
  actor: decisionFlags.actor,
} as const satisfies Flags;

export type DecisionCall = Call<typeof decisionFlags>;
interface Decider {
  readonly reason?: string;
  readonly actor?: string;
}

export function actorOf({ actor }: Decider, env: Io["env"]): string {
  const named = actor ?? env["ICHIDO_ACTOR"];
  if (named !== undefined && named.trim() !== "") return named;
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A container's user may have no name.
    return `${process.getuid?.() ?? "unknown"}@${hostname()}`;
  }
}

/** Asked for on a terminal; without one the option is named. */
export async function reasonOf({ reason }: Decider, io: Pick<Io, "ask">): Promise<string> {
  const given = reason ?? (await io.ask?.("reason, for the audit: "));
  if (given !== undefined && given.trim() !== "") return given;
  throw new UsageError("--reason: say why; it is kept in the audit");
}

/** True where a person, or `--yes`, agreed. */
export async function confirmed(
  flags: { readonly yes?: boolean },
  io: Pick<Io, "ask">,
  question: string,
): Promise<void> {
  if (flags.yes === true) return;
  if (io.ask === undefined)
    throw new UsageError("--yes: there is no terminal to ask on; give it where nobody is to be asked");
  const answer = await io.ask(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer)) throw new CommandError("interrupted", "nothing was done");
}

/** The audit has a note of a look at what is otherwise hidden, before it is shown. */
export async function noteReveal(
  store: Store,
  flags: Decider & { readonly reveal?: boolean },
  io: Io,
  about: readonly Pick<StoredRecord, "identity" | "fence">[] | undefined,
): Promise<void> {
  if (flags.reveal !== true) return;
  const actor = actorOf(flags, io.env);
  const reason = await reasonOf(flags, io);
  const notes: readonly Pick<AuditNote, "identity" | "fence">[] = about ?? [{}];
  for (const note of notes.map(({ identity, fence }) => ({
    ...(identity && { identity }),
    ...(fence !== undefined && { fence }),
  })))
    await store.note({ ...note, actor, action: "reveal", reason });
}

/** What was decided about events stands in the audit of the store too, which is the one that is exported. */
export async function noteEvents(
  store: Store,
  print: Printer,
  part: "outbox" | "inbox",
  { action, actor, reason }: Pick<AuditNote, "action" | "actor" | "reason">,
): Promise<void> {
  await store.note({ actor, action: `${part}-${action}`, reason }).catch(() => {
    print.note(`it stands in the audit of the ${part} alone: the one of the store could not be written`);
  });
}

const aboutMax = 300;

/** The reason, with the letter that it is about. */
export function reasonAbout(reason: string, letter: string): string {
  return `${reason} (${letter.slice(0, aboutMax)})`;
}
