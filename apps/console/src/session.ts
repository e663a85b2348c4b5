/** Who is looking and what they may do. The page says it beside its buttons; the server decides. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Permission, SessionAnswer } from "./contract.ts";
import { words } from "./i18n/words.ts";

export const Session = createContext<SessionAnswer | undefined>(undefined);

export function useSession(): SessionAnswer {
  const session = useContext(Session);
  if (session === undefined) throw new Error("no session: this part is shown inside of the frame alone");
  return session;
}

/** Why not, in words; undefined where it may be done. */
export function useHindrance(permission: Permission): string | undefined {
  const { can, readOnly } = useSession();
  if (readOnly && permission !== "read") return words().readOnlyReason;
  return can.includes(permission) ? undefined : words().needsPermission(permission);
}
