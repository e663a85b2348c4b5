-- A relay died with these in its hands: from now on each is sent alone. A second death in company adds nothing.
-- Parameters: seqs.
update {prefix}outbox set crashes = 1 where seq in (:seqs) and crashes = 0
