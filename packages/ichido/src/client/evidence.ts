/**
 * Decides who made an answer. Between page and service stand gateways, portals and login pages. Their answers must
 * neither end an attempt nor count as its outcome. They lack the replay marker: only the service replays. The client
 * believes a refusal only as a replay, since an earlier send may have taken effect. That holds also for a send which
 * the client did not make: browsers send a request again by themselves when a kept connection breaks.
 */
import { readJson } from "./json-text.ts";
import { isReplay } from "./replay-marker.ts";
import type { Answer } from "./result.ts";
import type { ProblemDocument } from "./retry-policy.ts";

/** Whether the service itself made this answer; `undefined` leaves it to the client's own rule. */
export type IsAnswer = (answer: Answer) => boolean | undefined;

const isJson = (type: string | null): boolean => /^application\/([^;]+\+)?json\s*(;|$)/i.test(type ?? "");

/** By `Accept`; without that header, a request with a JSON body expects JSON. */
export function expectsJson(headers: Headers): boolean {
  const accept = headers.get("accept");
  return accept === null ? isJson(headers.get("content-type")) : /json/i.test(accept) && !/html/i.test(accept);
}

function isPage(answer: Answer): boolean {
  const type = answer.headers.get("content-type");
  return type === null ? /^\s*<(!doctype|html)/i.test(answer.text()) : /^(text\/html|application\/xhtml)/i.test(type);
}

/**
 * Without an announced length the end of the connection ends the answer, so it may be half a text: that is no answer.
 */
function isCut(answer: Answer): boolean {
  const isWhole = answer.bytes.length === 0 || !isJson(answer.headers.get("content-type"));
  return !isWhole && readJson(answer.text()) === undefined;
}

/** Only the service itself replays. */
export function isProven(answer: Answer, problem: ProblemDocument | undefined): boolean {
  return isReplay(answer.headers) || problem?.code === "response-not-stored";
}

/**
 * Without proof, the form of the answer decides. Refusals count only where the key ends with the call and no earlier
 * send is known.
 */
export function looksOwn(answer: Answer, wantsJson: boolean, believesRefusals: boolean): boolean {
  const { status, redirected } = answer;
  // After a redirect the answer belongs to another request, often a GET; a redirect that was not followed says nothing
  // about the effect either.
  if (redirected || (status >= 300 && status < 400)) return false;
  if ((wantsJson && isPage(answer)) || isCut(answer)) return false;
  return status < 400 || believesRefusals;
}
