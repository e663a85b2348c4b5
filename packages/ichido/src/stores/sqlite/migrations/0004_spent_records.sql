-- What was released with the results of steps: a sweep takes it long after its retention.
CREATE INDEX ichido_records_spent ON ichido_records (expires_us) WHERE state = 'failed' AND steps_started > 0;
