/** The link that is handed on: the address, but where that holds a key somebody pasted. */
import { useEffect } from "preact/hooks";

let shared: string | undefined;

export function linkToShare(): string {
  return shared === undefined ? location.href : new URL(shared, location.href).href;
}

/** While the caller is shown, this hash is handed on in place of the address. */
export function useSharedHash(hash: string | undefined): void {
  useEffect(() => {
    shared = hash;
    return () => void (shared = undefined);
  }, [hash]);
}
