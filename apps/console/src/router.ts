/** The address holds the whole state of the page: `#/keys?state=unknown&cursor=…`. A link shows a colleague the same. */
import { useEffect, useState } from "preact/hooks";

export interface Place {
  /** `["keys", "@3fa9c1d2e0b7"]` */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function placeOf(hash: string): Place {
  const text = hash.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  const path = (at < 0 ? text : text.slice(0, at)).split("/").filter((part) => part !== "");
  const query = Object.fromEntries(new URLSearchParams(at < 0 ? "" : text.slice(at + 1)));
  return { path: path.map(decoded), query };
}

export type Query = Readonly<Record<string, string | undefined>>;

/** Empty and absent values are left out: an address says only what was chosen. */
export function hashOf(path: readonly string[], query: Query = {}): string {
  const chosen = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
  );
  const search = new URLSearchParams(chosen).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`;
}

export function go(path: readonly string[], query: Query = {}): void {
  location.hash = hashOf(path, query);
}

/** Without a step in the history: for what is typed or turned. */
export function change(path: readonly string[], query: Query = {}): void {
  history.replaceState(history.state, "", hashOf(path, query));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/**
 * What was chosen on a screen, by the address as it is now. The page is drawn a moment after the address has changed: by
 * what was drawn, a second choice in that moment would take back the first.
 */
export function chosenOn(screen: string): Place["query"] {
  const { path, query } = placeOf(location.hash);
  return path.length === 1 && path[0] === screen ? query : {};
}

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const moved = (): void => setHash(location.hash);
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return placeOf(hash);
}
