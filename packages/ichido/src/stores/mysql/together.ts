/** Claims and completions, together with others of the same moment where that may be, else alone. */
import type { ClaimRequest, ClaimResult, CompleteRequest, Fenced } from "../../core/contract/store.ts";
import { sentAgain } from "../../core/record-machine/claim.ts";
import type { createCalls } from "./calls.ts";
import { answersWithoutWriting, claim, insertMany } from "./claim.ts";
import type { Dialect } from "./dialect.ts";
import { createGrouped, type Asked } from "./group.ts";
import type { validateOptions } from "./options.ts";
import { complete, completeMany } from "./owned.ts";

export function createTogether(
  settings: ReturnType<typeof validateOptions>,
  { call, groupCall, mayGroup }: ReturnType<typeof createCalls>,
  dialect: Dialect,
) {
  async function claimAlone({ request, run }: Asked<ClaimRequest>, isAgain: boolean): Promise<ClaimResult> {
    const result = await claim(run, dialect, request);
    return isAgain ? sentAgain(result) : result;
  }

  const looks = createGrouped<ClaimRequest, ClaimResult | "absent">(settings, {
    weightOf: () => 0,
    sendMany: (requests) => answersWithoutWriting(groupCall(), dialect, requests),
    // Nothing was written.
    sendOne: (asked) => claimAlone(asked, false),
  });
  const inserts = createGrouped<ClaimRequest, ClaimResult>(settings, {
    weightOf: () => 0,
    sendMany: (requests) => insertMany(groupCall(), dialect, requests),
    sendOne: claimAlone,
  });
  const completions = createGrouped<CompleteRequest, Fenced>(settings, {
    weightOf: ({ response }) => response.body.length,
    sendMany: (requests) => completeMany(groupCall(), dialect, requests),
    sendOne: ({ request, run }) => complete(run, dialect, request, undefined),
  });
  const areGrouped = (): boolean => settings.group && mayGroup();

  return {
    async claim(request: ClaimRequest): Promise<ClaimResult> {
      const asked = { request, run: call() };
      if (!areGrouped()) return claimAlone(asked, false);
      const looked = await looks(asked);
      return looked === "absent" ? inserts(asked) : looked;
    },
    complete(request: CompleteRequest): Promise<Fenced> {
      return areGrouped() ? completions({ request, run: call() }) : complete(call(), dialect, request, undefined);
    },
  };
}
