-- A step that began, and whose start was not taken back by a release.
(s.started_us is not null and (s.finished_us is not null or s.start_fence >= r.released_fence))
