/** Reads the rules that the server itself publishes, for a description that names no profile. */
import { profiles, type Profile, type ProfileName } from "../core/contract/profiles.ts";
import { policyPath } from "../policy/policy.ts";
import type { Description } from "./description.ts";
import { readDescription } from "./read-description.ts";
import { exchange } from "./wire.ts";

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Members => (typeof value === "object" && value !== null ? (value as Members) : {});

/** `/payments/{id}` is the template of `/payments/7?full=1`. */
function isTemplateOf(template: unknown, path: string): boolean {
  if (typeof template !== "string") return false;
  const [plain = ""] = path.split("?");
  const [parts, given] = [template.split("/"), plain.split("/")];
  return parts.length === given.length && parts.every((part, index) => /^\{.+\}$/.test(part) || part === given[index]);
}

function operationOf(policy: Members, { method = "POST", path }: Description["operation"]): Members | undefined {
  const { operations } = policy;
  if (!Array.isArray(operations)) return undefined;
  return operations.map(membersOf).find((each) => each["method"] === method && isTemplateOf(each["path"], path));
}

/** What the policy says about the operation, as settings of a profile. */
function settingsOf(operation: Members, policy: Members): Partial<Record<keyof Profile, unknown>> {
  const key = membersOf(operation["key"]);
  const statuses = membersOf(operation["storedStatuses"]);
  const marker = membersOf(operation["marker"]);
  const {
    scope,
    errors = policy["errors"],
    header,
  } = operation as { scope?: unknown; errors?: unknown; header?: unknown };
  const reused = Array.isArray(errors)
    ? errors.map(membersOf).find((error) => error["code"] === "idempotency-key-reused")
    : undefined;
  const settings: Partial<Record<keyof Profile, unknown>> = {
    name: operation["profile"],
    header: typeof header === "string" ? header.toLowerCase() : undefined,
    keyForm: key["form"],
    keyPattern: key["format"],
    keyCase: key["compared"] === "lower-case" ? "lower" : undefined,
    keyLengthMax: key["format"] === "any" ? membersOf(key["length"])["max"] : undefined,
    mismatchStatus: reused?.["status"],
    inFlight:
      operation["inFlight"] === undefined ? undefined : operation["inFlight"] === "accepted" ? "accepted" : "conflict",
    replayCreatedAs: statuses["createdReplayedAs"],
    marker:
      typeof marker["header"] === "string"
        ? { name: marker["header"].toLowerCase(), value: marker["value"] }
        : undefined,
    operationInIdentity: Array.isArray(scope) ? scope.includes("operation") : undefined,
    keepServerErrors: Array.isArray(statuses["stored"]) ? statuses["stored"].includes("5xx") : undefined,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

async function publishedPolicy(address: URL): Promise<Members | undefined> {
  try {
    const reply = await exchange({ method: "GET", url: address, headers: [], body: Buffer.alloc(0) });
    return reply.status === 200 ? membersOf(reply.json()) : undefined;
  } catch {
    // The cases will report what is wrong with the server.
    return undefined;
  }
}

/** The description's own settings win; a description that names a profile is left as it is. */
export async function withOwnPolicy(description: Description): Promise<{ description: Description; isRead: boolean }> {
  const unread = { description, isRead: false };
  if (description.profile !== undefined) return unread;
  const address = new URL(description.policy ?? policyPath, description.url);
  const policy = await publishedPolicy(address);
  const operation = policy && operationOf(policy, description.operation);
  if (policy === undefined || operation === undefined) return unread;
  const { profile, required } = operation;
  const isKnown = typeof profile === "string" && Object.hasOwn(profiles, profile);
  const read = {
    policy: address.href,
    ...(typeof required === "boolean" ? { keyRequired: required } : {}),
    ...(membersOf(operation["compared"])["content"] === "bytes" ? { compare: "bytes" } : {}),
    ...description,
    ...(isKnown ? { profile: profile as ProfileName } : {}),
    overrides: { ...settingsOf(operation, policy), ...description.overrides },
  };
  try {
    return { description: readDescription(read), isRead: true };
  } catch {
    // The address answers, but not with a document of `ichido/policy`.
    return unread;
  }
}
