-- name: people
SELECT platform, sender, standing, name, approved_at FROM people ORDER BY approved_at

-- name: person_approve
INSERT INTO people (platform, sender, standing, name, approved_at)
VALUES (:platform, :sender, :standing, :name, :now)
ON CONFLICT (platform, sender) DO UPDATE SET standing = :standing, name = :name, approved_at = :now

-- name: pairing_of
SELECT code FROM pairings
WHERE platform = :platform AND account = :account AND sender = :sender AND expires_at > :now

-- name: pairings_pending
SELECT count(*) AS rows FROM pairings WHERE platform = :platform AND account = :account AND expires_at > :now

-- name: pairing_insert
INSERT INTO pairings (code, platform, account, sender, name, chat, created_at, expires_at)
VALUES (:code, :platform, :account, :sender, :name, :chat, :now, :expires_at)

-- name: pairings_expire
-- One from an hour ahead was made before the clock was set back, and would keep others out for as long.
DELETE FROM pairings WHERE expires_at <= :now OR created_at > :now + 3600

-- name: pairings
SELECT code, platform, account, sender, name, chat, created_at, expires_at FROM pairings
WHERE expires_at > :now ORDER BY created_at

-- name: owner_told
-- A time ahead of us is from before the clock was set back.
UPDATE pairing_guesses SET told_at = :now WHERE told_at <= :before OR told_at > :now

-- name: pairing_delete
DELETE FROM pairings WHERE code = :code

-- name: guesses
SELECT wrong, locked_until FROM pairing_guesses

-- name: guesses_set
UPDATE pairing_guesses SET wrong = :wrong, locked_until = :locked_until
