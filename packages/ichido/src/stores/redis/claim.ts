/** How a claim is sent, and how a grant goes back that its claimant will not hear of or may not count on. */
import type { ClaimResult, Store } from "../../core/contract/store.ts";
import { isInDoubt, sentAgain } from "../../core/record-machine/claim.ts";
import type { RedisArgument } from "../../drivers/redis/client.ts";
import { claim, grantIn, type Decode, type Grant } from "./claim-reply.ts";
import { cannotJoin, type OwnedParts } from "./owned.ts";
import { runReplicated, tooFewReplicas, type Replication } from "./replicas.ts";
import type { Ticks } from "./ticks.ts";

export function createClaims({ link, scripts, names, margin, wait }: OwnedParts, ticks: Ticks): Store["claim"] {
  /** What was in doubt stays in doubt. */
  function giveBack(name: string, owner: string, grant: Grant): void {
    const proof = [owner, String(grant.fence)];
    const channel = names.channel(name);
    const given = isInDoubt(grant)
      ? scripts.run("suspend", name, [...proof, "", "", "", "", channel])
      : scripts.run("release", name, [...proof, margin, channel]);
    given.catch(() => undefined);
  }

  async function sendReplicated(
    name: string,
    owner: string,
    args: readonly RedisArgument[],
    replicas: Replication,
  ): Promise<unknown> {
    const { reply, safe } = await runReplicated(link, scripts, replicas, "claim", name, args);
    const grant = grantIn(reply);
    if (grant === undefined || safe) return reply;
    giveBack(name, owner, grant);
    throw tooFewReplicas("claim", replicas);
  }

  function send(name: string, owner: string, args: readonly RedisArgument[], decode: Decode): Promise<ClaimResult> {
    if (wait !== undefined) return sendReplicated(name, owner, args, wait).then(decode);
    const onLate = (reply: unknown): void => {
      const grant = grantIn(reply);
      if (grant !== undefined) giveBack(name, owner, grant);
    };
    return scripts.runDecoded("claim", name, args, decode, onLate, async (reply) => sentAgain(await decode(reply)));
  }

  return (request, transaction) => {
    if (transaction !== undefined) return Promise.reject(cannotJoin("claim"));
    const name = names.record(request.identity);
    return claim(request, ticks, margin, (args, decode) => send(name, request.owner, args, decode));
  };
}
