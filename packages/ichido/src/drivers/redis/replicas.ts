/**
 * The option `wait` of stores and publishers that write to Redis: a write counts only when so many replicas have it.
 */
import { integerOption, knownOptions, optionInvalid } from "../../core/contract/option-checks.ts";

export interface ReplicaWait {
  readonly replicas: number;
  readonly timeoutMs: number;
}

const replicasMax = 100;

export function replicasOf(
  wait: ReplicaWait | undefined,
  callTimeoutMs: number,
  cluster: boolean,
): ReplicaWait | undefined {
  if (wait === undefined) return undefined;
  if (cluster)
    throw optionInvalid(
      "wait",
      "nothing with a cluster client: WAIT cannot be sent to the node that took the write",
      wait,
    );
  knownOptions("wait", wait, { replicas: true, timeoutMs: true });
  return {
    replicas: integerOption("wait.replicas", wait.replicas, 1, replicasMax),
    timeoutMs: integerOption("wait.timeoutMs", wait.timeoutMs, 1, callTimeoutMs - 1),
  };
}
