import type { Description } from "./description.ts";
import type { Session } from "./session.ts";

/**
 * `must`: a server that breaks it runs effects twice, leaks answers or breaks clients. `should`: APIs differ for a
 * reason.
 */
export type Level = "must" | "should";

export interface ConformCase {
  readonly id: string;
  readonly title: string;
  readonly level: Level;
  /** Where the rule comes from. */
  readonly reference: string;
  /** Why it cannot be run on this server, or undefined. */
  readonly unless?: (session: Session) => string | undefined;
  readonly run: (session: Session) => Promise<void>;
}

type Terms = Pick<ConformCase, "unless" | "run">;

/** Cases by `id: title`. Each names its level; the value under that name is the source of the rule. */
export function defineCases(
  cases: Readonly<Record<string, Terms & ({ readonly must: string } | { readonly should: string })>>,
): readonly ConformCase[] {
  return Object.entries(cases).map(([name, { unless, run, ...rule }]) => {
    const [, id, title] = /^([^:]+): (.+)$/.exec(name) ?? [];
    if (id === undefined || title === undefined) throw new Error(`not the name of a case: ${name}`);
    const [level, reference]: [Level, string] = "must" in rule ? ["must", rule.must] : ["should", rule.should];
    return { id, title, level, reference, run, ...(unless !== undefined && { unless }) };
  });
}

/** A case that must have this many effects, with a key that was never used. */
export function counting(effects: number, run: (s: Session, key: string) => Promise<void>): ConformCase["run"] {
  return (s) => s.counting(effects, () => run(s, s.freshKey()));
}

/** Reasons not to run; the first that applies is reported. */
export function lacking(
  ...parts: readonly (keyof Description | `variants.${string}`)[]
): (session: Session) => string | undefined {
  return ({ description }) => {
    for (const part of parts) {
      const [name = "", variant] = part.split(".");
      const value = (description as unknown as Record<string, unknown>)[name];
      const found = variant === undefined ? value : (value as Record<string, unknown> | undefined)?.[variant];
      if (found === undefined) return `not described: ${part}`;
    }
    return undefined;
  };
}

export const otherContent = ({ description }: Session): string | undefined =>
  description.otherBody === undefined && description.otherContent === undefined
    ? "not described: otherBody or otherContent"
    : undefined;

export function accepting(...kinds: NonNullable<Description["accepts"]>): (session: Session) => string | undefined {
  return ({ description }) => {
    const missing = kinds.find((kind) => description.accepts?.includes(kind) !== true);
    return missing === undefined ? undefined : `not described: accepts ${missing}`;
  };
}

export function either(
  ...reasons: readonly ((session: Session) => string | undefined)[]
): (session: Session) => string | undefined {
  return (session) => {
    for (const reason of reasons) {
      const found = reason(session);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

export const onlyUuids = ({ profile }: Session): string | undefined =>
  profile.keyPattern === "uuid-v4" ? "keys are UUIDs of version 4 here" : undefined;

export const bareKeys = ({ profile }: Session): string | undefined =>
  profile.keyForm === "bare" ? "keys are bare here: quotes are a part of them" : undefined;

export const strictKeys = ({ profile }: Session): string | undefined =>
  profile.keyForm === "strict" ? "keys are structured strings here" : undefined;
