-- What a node's agent sent that a correct one never sends: how many, the last of them, and until when they count.
-- Locks the table of nodes for a moment and rewrites nothing: the column has no default. Servers of the release before
-- neither read nor write it.
ALTER TABLE node ADD COLUMN strikes jsonb;
