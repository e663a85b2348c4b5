/**
 * Whether a page of another origin may send a key and see that an answer is a replay. Asked as a browser asks, by OPTIONS
 * and by GET: neither has an effect.
 */
import { findingOf, type Finding } from "../core/contract/finding.ts";
import type { Preflight } from "./doctor-parts.ts";

const timeoutMs = 5_000;
const sent = "idempotency-key";
const marker = "idempotency-replayed";

/** Of pages that send cookies a `*` names nothing: browsers then look for a header, a method or an origin of that name. */
function withCredentials(answer: Response): boolean {
  return answer.headers.get("access-control-allow-credentials") === "true";
}

function listed(answer: Response, header: string): readonly string[] {
  return (answer.headers.get(header) ?? "").split(",").map((each) => each.trim());
}

function names(answer: Response, header: string, name: string): boolean {
  const found = listed(answer, header);
  return found.some((each) => each.toLowerCase() === name) || (found.includes("*") && !withCredentials(answer));
}

/** Browsers ask about every other one, and `patch` is not PATCH to them. */
const safeMethods = ["GET", "HEAD", "POST"];

function allowsMethod(answer: Response, method: string): boolean {
  const found = listed(answer, "access-control-allow-methods");
  return (
    safeMethods.includes(method.toUpperCase()) ||
    found.includes(method) ||
    (found.includes("*") && !withCredentials(answer))
  );
}

async function ask(url: string, method: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  const answer = await fetch(url, { method, headers, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
  await answer.body?.cancel();
  return answer;
}

function allows(answer: Response, origin: string): boolean {
  const allowed = answer.headers.get("access-control-allow-origin");
  return allowed === origin || (allowed === "*" && !withCredentials(answer));
}

function refusalsOf(answer: Response, { url, origin, method = "POST" }: Preflight): readonly Finding[] {
  const asked = `OPTIONS ${url} from ${origin}`;
  if (!answer.ok || !allows(answer, origin)) {
    const why = withCredentials(answer) ? ", which with credentials is none of *" : "";
    const what = `${asked} is answered with ${answer.status} and no Access-Control-Allow-Origin for it${why}`;
    return [findingOf("preflight-refused", what, `Access-Control-Allow-Origin: ${origin}`)];
  }
  const found: Finding[] = [];
  if (!names(answer, "access-control-allow-headers", sent)) {
    const what = `${asked} does not allow Idempotency-Key: browsers then send no such request`;
    const remedy = "Access-Control-Allow-Headers: Content-Type, Idempotency-Key";
    found.push(findingOf("preflight-refused", what, remedy));
  }
  if (!allowsMethod(answer, method)) {
    const what = `${asked} does not allow ${method}: browsers then send no such request`;
    found.push(findingOf("preflight-refused", what, `Access-Control-Allow-Methods: ${method}`));
  }
  return found;
}

/** Where GET is not answered for other origins, only the route itself could tell. */
function hidden(preflight: Response, plain: Response, { url, origin }: Preflight): Finding | undefined {
  const isExposed = [preflight, plain].some((each) => names(each, "access-control-expose-headers", marker));
  if (isExposed || !allows(plain, origin)) return undefined;
  const what = `answers of ${url} to ${origin} do not expose Idempotency-Replayed: pages cannot tell a replay`;
  const remedy = "Access-Control-Expose-Headers: Idempotency-Replayed, Idempotency-Stored, Retry-After, Location";
  return findingOf("cors-not-exposed", what, remedy);
}

export async function checkPreflight(asked: Preflight): Promise<readonly Finding[]> {
  const { url, origin, method = "POST" } = asked;
  try {
    const preflight = await ask(url, "OPTIONS", {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": `content-type,${sent}`,
    });
    const plain = await ask(url, "GET", { origin });
    return [...refusalsOf(preflight, asked), ...[hidden(preflight, plain, asked) ?? []].flat()];
  } catch {
    const remedy = "start the service, or correct the address";
    return [findingOf("address-unreachable", `${url} was not answered`, remedy)];
  }
}
