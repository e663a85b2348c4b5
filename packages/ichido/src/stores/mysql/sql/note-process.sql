-- Notes who makes the owner tokens that begin like this.
-- Parameters: :owners, :process, :release.
-- Result: nothing to decide by.
-- Guarantee: S21.
insert into {processes} (owners, process, release_name, seen_us) values (:owners, :process, :release, {now})
on duplicate key update seen_us = {now}
