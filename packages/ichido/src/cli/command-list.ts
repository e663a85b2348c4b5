/** Every command by its name. One is loaded when it runs: `ichido --version` must not load every store. */
import type { Command } from "./command.ts";

export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import("./commands/init.ts")).initCommand,
  migrate: async () => (await import("./commands/migrate.ts")).migrateCommand,
  status: async () => (await import("./commands/status.ts")).statusCommand,
  plan: async () => (await import("./commands/plan.ts")).planCommand,
  export: async () => (await import("./commands/export.ts")).exportCommand,
  console: async () => (await import("./commands/console.ts")).consoleCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
  why: async () => (await import("./commands/why.ts")).whyCommand,
  "keys list": async () => (await import("./commands/keys-list.ts")).keysListCommand,
  "keys show": async () => (await import("./commands/keys-show.ts")).keysShowCommand,
  "keys tail": async () => (await import("./commands/keys-tail.ts")).keysTailCommand,
  "keys settle": async () => (await import("./commands/keys-settle.ts")).keysSettleCommand,
  "keys forget": async () => (await import("./commands/keys-forget.ts")).keysForgetCommand,
  "outbox list": async () => (await import("./commands/outbox-look.ts")).outboxListCommand,
  "outbox show": async () => (await import("./commands/outbox-look.ts")).outboxShowCommand,
  "outbox replay": async () => (await import("./commands/outbox-decide.ts")).outboxReplayCommand,
  "outbox discard": async () => (await import("./commands/outbox-decide.ts")).outboxDiscardCommand,
  "outbox pause": async () => (await import("./commands/events-pause.ts")).outboxPauseCommand,
  "outbox resume": async () => (await import("./commands/events-pause.ts")).outboxResumeCommand,
  "inbox list": async () => (await import("./commands/inbox-look.ts")).inboxListCommand,
  "inbox show": async () => (await import("./commands/inbox-look.ts")).inboxShowCommand,
  "inbox replay": async () => (await import("./commands/inbox-decide.ts")).inboxReplayCommand,
  "inbox discard": async () => (await import("./commands/inbox-decide.ts")).inboxDiscardCommand,
  "inbox pause": async () => (await import("./commands/events-pause.ts")).inboxPauseCommand,
  "inbox resume": async () => (await import("./commands/events-pause.ts")).inboxResumeCommand,
  reconcile: async () => (await import("./commands/reconcile.ts")).reconcileCommand,
  sweep: async () => (await import("./commands/sweep.ts")).sweepCommand,
  stats: async () => (await import("./commands/stats.ts")).statsCommand,
  audit: async () => (await import("./commands/audit.ts")).auditCommand,
  openapi: async () => (await import("./commands/openapi.ts")).openapiCommand,
  conform: async () => (await import("./commands/conform.ts")).conformCommand,
  harness: async () => (await import("./commands/harness.ts")).harnessCommand,
};

/** First words of the commands that have two: `keys`, `outbox`, `inbox`. */
export const groups: readonly string[] = [
  ...new Set(Object.keys(commands).flatMap((name) => (name.includes(" ") ? [name.split(" ")[0] ?? ""] : []))),
];
