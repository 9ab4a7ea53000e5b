-- Version 2: a fork is a thread whose beginning is another thread's. It copies nothing: its row says up to where.
--
-- `fork_of_key` is the thread whose rows hold the last turn that both share; that may be an ancestor of the thread that was
-- forked. A fork's own turns are counted on from `fork_turns`, so that `ord` runs through the whole history without gaps.
-- Like `archived`, these columns are in no rollout line and are kept by a rebuild.

ALTER TABLE thread ADD COLUMN fork_of_key INTEGER REFERENCES thread (thread_key);
ALTER TABLE thread ADD COLUMN fork_seq    INTEGER;           -- its last rollout line that belongs to the fork
ALTER TABLE thread ADD COLUMN fork_turns  INTEGER NOT NULL DEFAULT 0;

-- The rollout line that ended the turn: where a fork is cut.
ALTER TABLE turn ADD COLUMN end_seq INTEGER;

UPDATE turn SET end_seq = ended.seq
FROM (SELECT thread_key, payload ->> '$.turn_id' AS turn_id, max(seq) AS seq
      FROM rollout_line WHERE kind = 'turn_completed' GROUP BY 1, 2) AS ended
WHERE ended.thread_key = turn.thread_key AND ended.turn_id = turn.turn_id;
