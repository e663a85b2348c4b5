/** What an engine is made of: made once, handed down to both modes and to their attempts. */
import type { Answers } from "./answers.ts";
import type { AttemptLog } from "./attempt-log.ts";
import type { Deadlines } from "../contract/deadlines.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { LateWrites } from "./late-writes.ts";
import type { Measurements } from "./measurements.ts";
import type { OwnOutcomes } from "./own-outcomes.ts";
import type { OwnerToken } from "../contract/record.ts";
import type { ReplayCache } from "./replay-cache.ts";
import type { Running, SilentHandlers } from "./running.ts";
import type { StoreCalls } from "./store-calls.ts";
import type { ResolvedEngine } from "./validate-options.ts";

export interface EngineParts {
  readonly settings: ResolvedEngine<never>;
  readonly emit: IchidoListener;
  /** Someone listens: an event of every request is worth making. Warnings are always told. */
  readonly isHeard: () => boolean;
  readonly calls: StoreCalls;
  readonly attemptLog: AttemptLog | undefined;
  readonly answers: Answers;
  readonly newOwner: () => OwnerToken;
  readonly running: Running;
  readonly silentHandlers: SilentHandlers;
  readonly heartbeat: Heartbeat;
  readonly lateWrites: LateWrites;
  readonly ownOutcomes: OwnOutcomes;
  readonly measurements: Measurements;
  readonly replays: ReplayCache | undefined;
  /** Bounds what holds a transaction. */
  readonly bodies: Deadlines;
}
