-- Intents of the pages that other processes wrote.
-- Parameters: :sinceUs, :process, :limit.
-- Rows: up to :limit, in the order of writing.
-- Guarantee: S22.
select p.id, p.written_us, p.intents from {log_pages} p
where p.written_us >= :sinceUs and p.process <> :process and length(p.intents) > 0
order by p.written_us, p.id
limit :limit
