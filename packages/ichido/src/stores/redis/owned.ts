/** The verbs of an owner: each is one script that compares owner and fence, or changes nothing. */
import { IchidoError } from "../../core/contract/errors.ts";
import type { Claim, Fenced, Store } from "../../core/contract/store.ts";
import type { RedisArgument } from "../../drivers/redis/client.ts";
import type { Link } from "../../drivers/redis/link.ts";
import { bufferOf, numberOf } from "../../drivers/redis/reply.ts";
import { microseconds } from "./claim-reply.ts";
import type { Names } from "./names.ts";
import { runReplicated, tooFewReplicas, type Replication } from "./replicas.ts";
import { encodeHead } from "./row.ts";
import type { Scripts, Verb } from "./scripts.ts";

export interface OwnedParts {
  readonly link: Link;
  readonly scripts: Scripts;
  readonly names: Names;
  /** How long a key outlives its record, in ms. */
  readonly margin: string;
  readonly wait: Replication | undefined;
  readonly wake: (name: string) => void;
}

type OwnedVerb = "renew" | "complete" | "release" | "suspend" | "startStep" | "finishStep";

export function createOwnedVerbs({ link, scripts, names, margin, wait, wake }: OwnedParts): Pick<Store, OwnedVerb> {
  async function fenced(verb: Verb, held: Claim, ...args: readonly RedisArgument[]): Promise<Fenced> {
    return fencedOf(await scripts.run(verb, names.record(held.identity), [held.owner, String(held.fence), ...args]));
  }

  async function waking(held: Claim, answer: Promise<Fenced>): Promise<Fenced> {
    const result = await answer;
    wake(names.record(held.identity));
    return result;
  }

  async function completeReplicated(
    name: string,
    args: readonly RedisArgument[],
    replicas: Replication,
  ): Promise<unknown> {
    const { reply, safe } = await runReplicated(link, scripts, replicas, "complete", name, args);
    if (fencedOf(reply) === "ok" && !safe) throw tooFewReplicas("complete", replicas);
    return reply;
  }

  return {
    renew: (requests) => Promise.all(requests.map((each) => fenced("renew", each, microseconds(each.leaseMs), margin))),
    complete({ identity, owner, fence, response }, transaction) {
      if (transaction !== undefined) return Promise.reject(cannotJoin("complete"));
      const name = names.record(identity);
      const answer = [encodeHead(response), bufferOf(response.body)];
      const args = [owner, String(fence), ...answer, margin, names.channel(name), wait === undefined ? "" : "1"];
      const decode = (reply: unknown): Fenced => {
        wake(name);
        return fencedOf(reply);
      };
      if (wait !== undefined) return completeReplicated(name, args, wait).then(decode);
      return scripts.runDecoded("complete", name, args, decode);
    },
    release: (held) => waking(held, fenced("release", held, margin, names.channel(names.record(held.identity)))),
    suspend(request) {
      const { interim, holdReason } = request;
      const answer = interim === undefined ? ["", ""] : [encodeHead(interim), bufferOf(interim.body)];
      const hold = holdReason === undefined ? ["", ""] : ["1", holdReason];
      const channel = names.channel(names.record(request.identity));
      return waking(request, fenced("suspend", request, ...answer, ...hold, channel));
    },
    startStep: (request) => fenced("startStep", request, microseconds(request.leaseMs), request.name),
    finishStep: (request) =>
      fenced("finishStep", request, microseconds(request.leaseMs), request.name, bufferOf(request.result)),
  };
}

function fencedOf(reply: unknown): Fenced {
  return numberOf(reply) === 1 ? "ok" : "stale";
}

export function cannotJoin(verb: string): IchidoError {
  return new IchidoError(
    "usage-invalid",
    `${verb}: the redis store cannot join a transaction of another database; keep keys in that database for that`,
  );
}
