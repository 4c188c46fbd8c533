-- name: usage_add
INSERT INTO usage (agent, session, model, day, calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens)
VALUES (:agent, :session, :model, :day, :calls, :input_tokens, :output_tokens, :cache_read_tokens, :cache_write_tokens)
ON CONFLICT (agent, session, model, day) DO UPDATE SET
    calls = calls + excluded.calls,
    input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens

-- name: usage_of_session
SELECT model, sum(calls) AS calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
       sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_tokens) AS cache_write_tokens
FROM usage WHERE agent = :agent AND session = :session GROUP BY model ORDER BY model

-- name: usage_of_days
SELECT model, sum(calls) AS calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
       sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_tokens) AS cache_write_tokens
FROM usage WHERE day >= :first AND day < :after AND agent = :agent GROUP BY model ORDER BY model
