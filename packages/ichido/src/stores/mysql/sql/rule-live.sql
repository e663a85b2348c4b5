-- An owner is at work. A lease further ahead than any lease can be, and than a wait for a lock explains, was written by a clock
-- that has gone back since.
(lease_us between {now} + 1 and {now} + {leaseAheadUs})
