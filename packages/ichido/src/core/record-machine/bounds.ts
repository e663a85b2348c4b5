/** Bounds of the rules. They stand here alone: `npm run generate` writes them into SQL and Lua, which name them in braces. */
import { limits } from "../contract/defaults.ts";

/**
 * A lease further ahead than this was set by a clock that has since gone back, and counts as lapsed. Twice the longest
 * lease, so that a clock which steps back a little takes no record from under a living owner.
 */
export const leaseAbsurdUs = 2 * limits.leaseMsMax * 1_000;

/** Expiry is trusted within this many intervals of even ticks. */
export const tickGapIntervals = 3;

/** The results of a released record's steps are kept for so many retentions more than anything else: a caller may come back late. */
export const spentRetentions = 7;

/**
 * Where the moment is read when a statement begins, and the statement may then wait for a lock: a lease is absurdly far ahead,
 * and a tick was before the last one, only if more than such a wait does not explain it. Otherwise a claim that waited
 * would take a record from under its living owner.
 */
export const lockWaitUs = 240_000_000;
export const tickPatienceUs = 1_000_000;

/** Nobody's token: no attempt can present it, so an owner that comes back after `adopt` or `release` is stale. */
export const nobody = "0".repeat(32);
