/** What `doctor` may find wrong with a set-up. `docs/reference/doctor.md` has a row for each; a test compares the two. */

/**
 * `error`: requests fail now, or an operation may take effect twice without any fault. `warning`: it may after a fault,
 * a crash or a late retry.
 */
export type Severity = "error" | "warning";

export const findings = {
  // versions
  "runtime-old": "error",
  "server-old": "error",
  "driver-old": "warning",
  // the store and its server
  "store-unreachable": "error",
  "store-refuses": "error",
  "schema-missing": "error",
  "schema-older": "error",
  "schema-drifted": "error",
  "index-missing": "warning",
  "rights-missing": "error",
  "server-read-only": "error",
  "not-durable": "warning",
  eviction: "error",
  "not-persistent": "warning",
  "standby-asynchronous": "warning",
  "settings-unseen": "warning",
  "pooler-session": "warning",
  "clock-apart": "warning",
  // what running processes measured
  "engines-differ": "warning",
  "lease-short": "warning",
  "client-timeout-short": "warning",
  "provider-timeout-short": "warning",
  "cookie-optional-key": "warning",
  "cors-not-exposed": "warning",
  "preflight-refused": "error",
  "address-unreachable": "warning",
  // time
  "retention-below-redelivery": "error",
  "retention-below-dead-letters": "warning",
  "sweeper-behind": "warning",
} as const satisfies Readonly<Record<string, Severity>>;

export type FindingCode = keyof typeof findings;

export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** What is so, with its numbers. */
  readonly what: string;
  /** What to do about it: a statement, a command or an option. */
  readonly remedy: string;
}

export function findingOf(code: FindingCode, what: string, remedy: string): Finding {
  return { code, severity: findings[code], what, remedy };
}
