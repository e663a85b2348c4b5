/** Claims and completions, together with others of the same moment where that may be, else alone. */
import type { ClaimRequest, ClaimResult, CompleteRequest, Fenced } from "../../core/contract/store.ts";
import { sentAgain } from "../../core/record-machine/claim.ts";
import type { createCalls } from "./calls.ts";
import { answersWithoutWriting, claim, insertMany } from "./claim.ts";
import type { Dialect } from "./dialect.ts";
import { createGrouped, type Asked } from "./group.ts";
import type { validateOptions } from "./options.ts";
import { complete, completeMany } from "./owned.ts";

/** As many of a group may meet a record before the next one looks first. */
const metShareMax = 1 / 8;

export function createTogether(
  settings: ReturnType<typeof validateOptions>,
  { call, groupCall, mayGroup }: ReturnType<typeof createCalls>,
  dialect: Dialect,
) {
  async function claimAlone({ request, run }: Asked<ClaimRequest>, isAgain: boolean): Promise<ClaimResult> {
    if (!isAgain) return claim(run, dialect, request);
    // Its group may have failed by a lock on the very record that it met, for which a look does not wait.
    const [looked] = await answersWithoutWriting(run, dialect, [request]);
    const known = looked === "absent" ? undefined : looked;
    return sentAgain(known ?? (await claim(run, dialect, request)));
  }

  /** Whether claims meet records: then they look first. */
  let areMet = true;
  function learn(met: number, of: number): void {
    areMet = met > of * metShareMax;
  }

  const looks = createGrouped<ClaimRequest, ClaimResult | "absent">(settings, {
    weightOf: () => 0,
    async sendMany(requests) {
      const answers = await answersWithoutWriting(groupCall(), dialect, requests);
      learn(answers.filter((answer) => answer !== "absent").length, answers.length);
      return answers;
    },
    // Nothing was written.
    sendOne: (asked) => claimAlone(asked, false),
  });
  const inserts = createGrouped<ClaimRequest, ClaimResult>(settings, {
    weightOf: () => 0,
    async sendMany(requests) {
      try {
        const answers = await insertMany(groupCall(), dialect, requests);
        learn(answers.filter((answer) => answer?.outcome !== "granted").length, answers.length);
        return answers;
      } catch (error) {
        // Perhaps by a lock on a record that one of them met: the next ones must not wait for it.
        areMet = true;
        throw error;
      }
    },
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
      const looked = areMet ? await looks(asked) : "absent";
      return looked === "absent" ? inserts(asked) : looked;
    },
    complete(request: CompleteRequest): Promise<Fenced> {
      return areGrouped() ? completions({ request, run: call() }) : complete(call(), dialect, request, undefined);
    },
  };
}
