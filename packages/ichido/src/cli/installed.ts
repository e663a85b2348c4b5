/** Packages of the project that a command is called in: drivers are the user's own. */
import { loadFromHere } from "../conform/harness/load.ts";
import { CommandError } from "./exit-codes.ts";

type Loaded = Readonly<Record<string, unknown>> & { readonly default?: unknown };

/** The first of them that is installed, with its name. */
export async function firstInstalled<const Name extends string>(
  names: readonly Name[],
  purpose: string,
): Promise<{ readonly name: Name; readonly module: Loaded }> {
  for (const name of names) {
    const module = await loadFromHere(name).catch((error: unknown) => {
      if (error instanceof Error && error.message.includes("is not installed here")) return undefined;
      throw error;
    });
    if (module !== undefined) return { name, module: module as Loaded };
  }
  throw new CommandError("error", `${purpose} needs ${names.join(" or ")}: npm install ${names[0] ?? ""}`);
}

/** CommonJS packages come as the default of what was imported. */
export function memberOf<Member>(module: Loaded, name: string): Member {
  const inside = Object(module.default) as Readonly<Record<string, unknown>>;
  return (module[name] ?? inside[name]) as Member;
}
