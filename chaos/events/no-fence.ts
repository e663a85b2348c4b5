/** The control: relays on a copy of ichido's source whose turns do not ask whether their session is still there. */
import { Copy, type Edit } from "../../simulation/mutants/mutant.ts";

const edits: readonly Edit[] = [
  { file: "outbox/turn.ts", find: "if (affected === 0) throw lost();", replace: "" },
  { file: "outbox/turn.ts", find: "if (rows.length === 0) throw lost();", replace: "" },
  {
    file: "outbox/session.ts",
    find: 'if ((await run(handle, "hold", values)).affected === 0)',
    replace: 'if ((await run(handle, "hold", values)).affected < 0)',
  },
];

export function relaysWithoutFence(): { readonly root: string; remove(): void } {
  const copy = new Copy(["chaos", "test/events", "test/support"]);
  copy.edit(edits);
  return { root: copy.path, remove: () => copy.remove() };
}
