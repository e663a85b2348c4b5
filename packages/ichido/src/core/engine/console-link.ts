/** What a console has of its engine beyond its verbs, and how an event of an open outcome leads to its record there. */
import type { Environment } from "../contract/environment.ts";
import type { Identity } from "../contract/record.ts";
import { createRecordHandles, type RecordHandles } from "../request/record-handle.ts";
import type { StoreHolder } from "./store-holder.ts";

export interface ConsoleLink {
  readonly handles: RecordHandles;
  /** As `operationIdSecret` has it. */
  readonly secret: string | undefined;
  /** Requests are noted in the attempt log. */
  readonly isLogged: boolean;
  /** The address of the record in the console, where `consoleUrl` says where that is. */
  of(identity: Pick<Identity, "key" | "scopeHash">): string | undefined;
  /** The same as a member of an event. */
  linked(identity: Pick<Identity, "key" | "scopeHash">): { readonly console?: string };
}

export function createConsoleLink(
  url: string | undefined,
  secret: string | undefined,
  isLogged: boolean,
  environment?: Environment,
): ConsoleLink {
  const handles = createRecordHandles(secret, environment);
  const of: ConsoleLink["of"] = (identity) =>
    url === undefined ? undefined : `${url.replace(/\/+$/, "")}/#/keys/${handles.of(identity)}`;
  return {
    handles,
    secret,
    isLogged,
    of,
    linked(identity) {
      const address = of(identity);
      return address === undefined ? {} : { console: address };
    },
  };
}

const links = new WeakMap<object, ConsoleLink>();

export function lendLink(engine: object, link: ConsoleLink): void {
  links.set(engine, link);
}

/** A store that comes by itself has no secret and no address. */
export function linkOf(holder: StoreHolder): ConsoleLink {
  return links.get(holder) ?? createConsoleLink(undefined, undefined, true);
}
