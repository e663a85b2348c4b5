/**
 * What the server or the driver said, as errors of ichido. An error reply begins with its code, a word in capitals: that
 * is the protocol, not prose. What a driver says besides may quote arguments and never leaves.
 */
import { DeadlineExceeded } from "../../core/contract/deadline.ts";
import { defect, IchidoError, isDefect, isIchidoError } from "../../core/contract/errors.ts";

/** Nothing was done, and the same command may well succeed in a moment. */
const passing: ReadonlySet<string> = new Set([
  "BUSY",
  "TRYAGAIN",
  "CLUSTERDOWN",
  "LOADING",
  "MASTERDOWN",
  "ASK",
  "MOVED",
]);

const advice: Readonly<Record<string, string>> = {
  OOM: "it has reached maxmemory and refuses writes; give it more memory or sweep more often",
  READONLY: "it is a replica; connect to the master",
  BUSY: "a script of someone else keeps it busy; look at SCRIPT KILL",
  MISCONF: "it cannot write to its disk; look at its log",
  NOREPLICAS: "fewer replicas than min-replicas-to-write are connected",
  LOADING: "it is still loading its data",
  CLUSTERDOWN: "slots of the cluster have no master",
  NOPERM: "the account lacks a permission; the store's documentation lists the commands it needs",
  NOAUTH: "it asks for a password that the client does not give",
  WRONGPASS: "the client's name or password is wrong",
};

/** The code of an error reply; undefined for whatever the driver itself failed with. */
export function replyCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof DeadlineExceeded || isIchidoError(error)) return undefined;
  return /^-?([A-Z]{2,}[A-Z0-9]*)(?: |$)/.exec(error.message)?.[1];
}

export type FailureKind = "no-script" | "passing" | "out-of-memory" | "refused" | "timeout" | "lost";

export function failureKind(error: unknown): FailureKind {
  if (error instanceof DeadlineExceeded) return "timeout";
  // Our own verdicts, and replies that make no sense: asking again would not change them.
  if (isIchidoError(error) || error instanceof TypeError) return "refused";
  const code = replyCodeOf(error);
  if (code === undefined) return "lost";
  if (code === "NOSCRIPT") return "no-script";
  if (code === "OOM") return "out-of-memory";
  return passing.has(code) ? "passing" : "refused";
}

export function toIchidoError(error: unknown, verb: string): IchidoError {
  if (isIchidoError(error)) return error;
  if (error instanceof DeadlineExceeded) {
    return new IchidoError("store-unavailable", `Redis, ${verb}: no answer in time (${error.message})`);
  }
  if (isDefect(error)) return defect(`Redis, ${verb}`, error);
  const code = replyCodeOf(error);
  const name = code ?? driverCodeOf(error);
  const cause = Object.assign(new Error(name ?? "the driver failed"), { code: name });
  const what = code === undefined ? "the connection was lost or could not be had" : (advice[code] ?? "it refused");
  const ours = code === "NOPERM" ? "access-denied" : "store-unavailable";
  return new IchidoError(ours, `Redis, ${verb}${name === undefined ? "" : ` (${name})`}: ${what}`, {
    cause,
  });
}

function driverCodeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.constructor.name === "Error" ? undefined : error.constructor.name;
}
