/**
 * The name of a record in addresses of the console. Links go into logs, tickets and chats and must work after a restart
 * and in every process, so a handle is the record's scope hash and key, encrypted: the record is found by its primary
 * key, and no store needs an index for it. The cipher is that of operation ids (`operation-id.ts`) under a key of its own:
 * an id that a customer holds is no handle, and a handle is no id that a status address takes.
 *
 * Without a secret, handles are made under random bits of this process: who may only look must not read keys from them, and
 * they end with the process. The bits are drawn at first use, since an engine may stand at the top of a module.
 */
import { systemEnvironment, type Environment } from "../contract/environment.ts";
import type { Identity } from "../contract/record.ts";
import { createOperationIds, type OperationIds } from "./operation-id.ts";

type Named = Pick<Identity, "key" | "scopeHash">;

export interface RecordHandles {
  of(record: Named): string;
  /** Undefined for what was not made under this secret. */
  open(handle: string): Named | undefined;
}

const everybody = { tenant: undefined, principal: undefined };

const secretBytes = 32;

export function createRecordHandles(
  secret: string | undefined,
  environment: Pick<Environment, "randomBytes"> = systemEnvironment,
): RecordHandles {
  let made: OperationIds | undefined;
  const random = (): string => Buffer.from(environment.randomBytes(secretBytes)).toString("hex");
  const ids = (): OperationIds => (made ??= createOperationIds(`ichido-console-1 ${secret ?? random()}`));
  return {
    of: ({ key, scopeHash }) => ids().of({ key, scopeHash, ...everybody }),
    open: (handle) => ids().open(handle, everybody),
  };
}
