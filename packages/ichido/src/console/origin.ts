/**
 * Whether the console's own page sent a request. A browser says so itself (`Sec-Fetch-Site`, which no page can set); over
 * plain HTTP from another host it does not, and there `Origin` must be the host that was asked. A proxy may ask under
 * another name: the one it forwards counts too, since no page of another origin can set that header unasked.
 */
export type HeaderOf = (name: string) => string | undefined;

const ownSites: readonly string[] = ["same-origin", "none"];

/** Whether the origin is the host that was asked. Undefined: it is not told. */
function isOwnOrigin(header: HeaderOf): boolean | undefined {
  const origin = header("origin");
  if (origin === undefined) return undefined;
  const host = URL.parse(origin)?.host ?? "";
  return host !== "" && [header("host"), header("x-forwarded-host")].some((each) => each?.toLowerCase() === host);
}

/** For looking: another site may not even ask. A program that is no browser says nothing, and may. */
export function isForeign(header: HeaderOf): boolean {
  const site = header("sec-fetch-site");
  return site === undefined ? isOwnOrigin(header) === false : !ownSites.includes(site);
}

/** For writing: the page must be known to be the console's. */
export function isOwnPage(header: HeaderOf): boolean {
  const site = header("sec-fetch-site");
  return site === undefined ? isOwnOrigin(header) === true : site === "same-origin";
}
