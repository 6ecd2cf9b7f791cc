-- What an outside hand did to a run in its cluster, so that it does not begin or go on: {code, message}.
-- Locks the table of runs for a moment and rewrites nothing: the column has no default. Servers of the release before
-- neither read nor write it.
ALTER TABLE run ADD COLUMN halt jsonb;
