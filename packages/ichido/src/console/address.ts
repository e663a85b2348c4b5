/** The address of a request, literally: what is normalised here would pass a rule in front that reads it as it stands. */
export interface Address {
  readonly path: string;
  readonly search: URLSearchParams;
}

export function addressOf(url: string): Address {
  const at = url.indexOf("?");
  return at < 0
    ? { path: url, search: new URLSearchParams() }
    : { path: url.slice(0, at), search: new URLSearchParams(url.slice(at + 1)) };
}
