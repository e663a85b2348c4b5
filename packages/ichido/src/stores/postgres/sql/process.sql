-- Who makes the owner tokens that begin like this.
-- Parameters: owners.
-- Rows: process and release, or none.
-- Guarantee: S21.
select p.process, p.release from {prefix}processes p where p.owners = $1::text
