-- name: messages_with_words
WITH found AS MATERIALIZED (
    SELECT rowid AS part, rank AS score FROM words WHERE words MATCH :expression AND rank MATCH 'bm25(0.0, 1.0)'
), best AS MATERIALIZED (
    SELECT p.message, found.part, min(found.score) AS score
    FROM found CROSS JOIN parts p ON p.id = found.part CROSS JOIN messages m ON m.id = p.message
    CROSS JOIN files f ON f.id = m.file
    WHERE m.time >= :since AND m.time < :until
        AND (:shelf IS NULL OR f.shelf = :shelf)
        AND (:running IS NULL OR f.session <> :running OR f.turn IS NULL OR m.turn IS NOT f.turn)
    GROUP BY p.message ORDER BY score, m.time DESC LIMIT :most
)
SELECT f.session, f.shelf, m.entry, m.time, m.role, m.name, m.text, p.first, p.last
FROM best CROSS JOIN parts p ON p.id = best.part CROSS JOIN messages m ON m.id = best.message
CROSS JOIN files f ON f.id = m.file ORDER BY best.score, m.time DESC, m.id DESC
