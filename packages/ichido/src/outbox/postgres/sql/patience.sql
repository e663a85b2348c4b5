-- How long the server lets this transaction stand idle: a relay that froze or lost its machine between two statements
-- must not keep its session locked past its lease. Ends with the transaction.
-- Parameters: lease_ms.
select set_config('idle_in_transaction_session_timeout', ':lease_ms', true)
