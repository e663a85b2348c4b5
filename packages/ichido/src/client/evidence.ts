/**
 * Who made an answer. Between page and service stand gateways, portals and login pages, and what they say must neither
 * end an attempt nor pass for its outcome. A stranger's answer is told by what it lacks: only the service replays. A
 * refusal is believed as a replay alone, since an earlier send may have taken effect, also one that nobody saw: browsers
 * send a request again by themselves when a kept connection breaks under it.
 */
import { readJson } from "./json-text.ts";
import { isReplay } from "./replay-marker.ts";
import type { Answer } from "./result.ts";
import type { ProblemDocument } from "./retry-policy.ts";

/** Whether the service itself made this answer; `undefined` leaves it to the client's own rule. */
export type IsAnswer = (answer: Answer) => boolean | undefined;

const isJson = (type: string | null): boolean => /^application\/([^;]+\+)?json\s*(;|$)/i.test(type ?? "");

/** By what is accepted; where nothing is said, whoever sends JSON is answered in JSON. */
export function expectsJson(headers: Headers): boolean {
  const accept = headers.get("accept");
  return accept === null ? isJson(headers.get("content-type")) : /json/i.test(accept) && !/html/i.test(accept);
}

function isPage(answer: Answer): boolean {
  const type = answer.headers.get("content-type");
  return type === null ? /^\s*<(!doctype|html)/i.test(answer.text()) : /^(text\/html|application\/xhtml)/i.test(type);
}

/** A connection that ends is the end of an answer whose length nobody announced: half a text is no answer. */
function isCut(answer: Answer): boolean {
  const isWhole = answer.bytes.length === 0 || !isJson(answer.headers.get("content-type"));
  return !isWhole && readJson(answer.text()) === undefined;
}

/** Nobody else replays. */
export function isProven(answer: Answer, problem: ProblemDocument | undefined): boolean {
  return isReplay(answer.headers) || problem?.code === "response-not-stored";
}

/** Without proof, by its form. Refusals only where no key outlives the call and no earlier send is known. */
export function looksOwn(answer: Answer, wantsJson: boolean, believesRefusals: boolean): boolean {
  const { status, redirected } = answer;
  // After a redirect it answers another request, often a GET; one that was not followed says nothing of the effect either.
  if (redirected || (status >= 300 && status < 400)) return false;
  if ((wantsJson && isPage(answer)) || isCut(answer)) return false;
  return status < 400 || believesRefusals;
}
