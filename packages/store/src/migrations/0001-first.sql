-- The first schema. Times are bigint milliseconds of the database's clock. States are a jsonb union beside the name it
-- carries, so that a CHECK and an index can see the name. Ids are compared bytewise: ids made later sort later.
-- Lock order of every transaction: leader, cluster, job by id, node by id, outbox, project_usage by path, log_head. A job's row lock also guards its
-- runs, tasks and start rows, which are never written without it; an array's row is locked before its members', and guards those without a row.

CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- Jobs -----------------------------------------------------------------------------------------------------------

CREATE TABLE project (
  path text COLLATE "C" PRIMARY KEY,
  created_ms bigint NOT NULL,
  created_by text NOT NULL
);

CREATE TABLE job (
  id text COLLATE "C" PRIMARY KEY,
  project text COLLATE "C" NOT NULL,
  tier text NOT NULL,
  priority integer NOT NULL,
  name text NOT NULL,
  -- Hash of the queue entry it shares with jobs of equal project, user, tier, priority, duration, deadline, estimate and demand.
  entry uuid NOT NULL,
  -- How long it may run and when it should have ended, as its spec says.
  duration_ms bigint,
  deadline_ms bigint,
  -- What was learned of its run time when it came; both or none.
  expected_ms bigint,
  p90_ms bigint,
  -- A member of an array has none of its own.
  spec jsonb,
  -- The array it is a member of, and which; a member has a row from its first plan on.
  member_of text COLLATE "C",
  member_index integer,
  state jsonb NOT NULL,
  state_name text NOT NULL
    CHECK (state_name IN ('queued', 'held', 'starting', 'running', 'stopping', 'ended')),
  version integer NOT NULL,
  submitted_by text NOT NULL,
  submitted_ms bigint NOT NULL,
  submitted_sequence bigint NOT NULL,
  started_ms bigint,
  ended_ms bigint,
  CHECK ((expected_ms IS NULL) = (p90_ms IS NULL)),
  CHECK ((state_name = 'ended') = (ended_ms IS NOT NULL)),
  CHECK (state ->> 'state' = state_name),
  CHECK ((spec IS NULL) = (member_of IS NOT NULL)),
  CHECK (id = member_of || '[' || member_index || ']')
-- A plan starts whole pages of jobs at once, and each new version should find room beside the old one.
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX job_member ON job (member_of, member_index) WHERE member_of IS NOT NULL;
-- The predicates name only ended_ms, so that a job's steps before its end touch no index.
CREATE INDEX job_live ON job (id) WHERE ended_ms IS NULL;
CREATE INDEX job_ended ON job (ended_ms) WHERE ended_ms IS NOT NULL AND member_of IS NULL;
CREATE INDEX job_project ON job (project, id) WHERE member_of IS NULL;

CREATE TABLE idempotency (
  project text COLLATE "C" NOT NULL,
  principal text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  body_hash text NOT NULL,
  created_ms bigint NOT NULL,
  PRIMARY KEY (project, principal, key)
);
-- Rows arrive in order of time, so a block range index finds the old ones and costs the insert nothing.
CREATE INDEX idempotency_created ON idempotency USING brin (created_ms);

-- One row a queue entry: what its jobs ask for, kept once for all of them, and the engine's latest answer.
CREATE TABLE entry (
  hash uuid PRIMARY KEY,
  demand jsonb,
  verdict jsonb,
  seen_ms bigint NOT NULL
);

CREATE TABLE run (
  id text COLLATE "C" PRIMARY KEY,
  job text COLLATE "C" NOT NULL,
  attempt integer NOT NULL,
  epoch bigint NOT NULL,
  exclusive boolean NOT NULL,
  port integer NOT NULL,
  stop_after_ms bigint,
  -- What it uses of each resource key, as its nodes were when it was planned.
  uses jsonb NOT NULL,
  planned_ms bigint NOT NULL,
  ended_ms bigint,
  -- What the run last said it has saved ({step, path, atMs}); and when that was last logged, which is what decisions see.
  checkpoint jsonb,
  checkpoint_ms bigint,
  -- Hashes of the tokens its tasks speak to the API with; worth nothing once it has ended.
  tokens text[] NOT NULL DEFAULT '{}',
  state jsonb NOT NULL,
  state_name text NOT NULL
    CHECK (state_name IN ('planned', 'starting', 'running', 'stopping', 'unknown', 'ended')),
  CHECK ((state_name = 'ended') = (ended_ms IS NOT NULL)),
  CHECK (state ->> 'state' = state_name)
) WITH (fillfactor = 70);
CREATE INDEX run_live ON run (id) WHERE ended_ms IS NULL;

-- What each project uses and used of each kind of resource; see packages/model/src/usage.ts.
CREATE TABLE project_usage (
  project text COLLATE "C" PRIMARY KEY,
  keys jsonb NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE task (
  run text COLLATE "C" NOT NULL,
  rank integer NOT NULL,
  group_index integer NOT NULL,
  node text COLLATE "C" NOT NULL,
  cpu_milli bigint NOT NULL,
  memory_mib bigint NOT NULL,
  devices integer[] NOT NULL,
  -- Thousandths of each of them: 1000, or the part of the only one.
  device_milli integer NOT NULL CHECK (device_milli = 1000 OR (device_milli BETWEEN 1 AND 999 AND cardinality(devices) = 1)),
  over boolean NOT NULL DEFAULT false,
  state jsonb NOT NULL,
  state_name text NOT NULL CHECK (state_name IN ('planned', 'accepted', 'running', 'ended')),
  PRIMARY KEY (run, rank),
  CHECK (over = (state_name = 'ended')),
  CHECK (state ->> 'state' = state_name)
) WITH (fillfactor = 70);
CREATE INDEX task_live ON task (node, run) WHERE NOT over;

-- Nodes ----------------------------------------------------------------------------------------------------------

-- Clusters that an operator connected; others exist by their agents alone. `known_as` of their nodes is the cluster's own name of
-- each: such a node has no agent and no lease, and the server that leads speaks for it.
CREATE TABLE cluster (
  name text COLLATE "C" PRIMARY KEY,
  config jsonb NOT NULL,
  state jsonb NOT NULL,
  drain jsonb,
  answered_ms bigint,
  created_ms bigint NOT NULL,
  created_by text NOT NULL
);

-- Capacity that is sold stays sold until a run's end is proven, even when the machine shrank meanwhile. So the CHECKs
-- compare what is used with a limit that is the larger of what the node has and what was already sold when it shrank;
-- each release pulls the limit back down. New work is measured against what the node has.
CREATE TABLE node (
  id text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  cluster text NOT NULL,
  pool text NOT NULL,
  known_as text COLLATE "C",
  public_key text NOT NULL,
  -- 0 until the first hello.
  generation integer NOT NULL DEFAULT 0,
  state jsonb NOT NULL,
  state_name text NOT NULL CHECK (state_name IN ('ready', 'silent', 'lost', 'removed')),
  drain jsonb,
  -- Thousandths; what is missing makes the node dearer.
  trust_milli integer NOT NULL DEFAULT 1000 CHECK (trust_milli BETWEEN 0 AND 1000),
  session text,
  server text,
  boot_id text,
  agent_version text,
  isolation boolean NOT NULL DEFAULT false,
  renewed_ms bigint,
  renewals bigint NOT NULL DEFAULT 0,
  -- What the agent was last told, which bounds when its next beat is due.
  beat_ms bigint NOT NULL DEFAULT 30000,
  cpu_milli bigint NOT NULL DEFAULT 0,
  cpu_milli_limit bigint NOT NULL DEFAULT 0,
  cpu_milli_used bigint NOT NULL DEFAULT 0,
  memory_mib bigint NOT NULL DEFAULT 0,
  memory_mib_limit bigint NOT NULL DEFAULT 0,
  memory_mib_used bigint NOT NULL DEFAULT 0,
  devices integer NOT NULL DEFAULT 0,
  devices_limit integer NOT NULL DEFAULT 0,
  -- Thousandths of each device, by index.
  devices_used integer[] NOT NULL DEFAULT '{}',
  ports_used integer[] NOT NULL DEFAULT '{}',
  runs integer NOT NULL DEFAULT 0,
  exclusive_run text,
  CHECK (state ->> 'state' = state_name),
  CONSTRAINT cpu_not_oversold CHECK (cpu_milli_used BETWEEN 0 AND cpu_milli_limit),
  CONSTRAINT memory_not_oversold CHECK (memory_mib_used BETWEEN 0 AND memory_mib_limit),
  CONSTRAINT device_not_oversold CHECK (1000 >= ALL (devices_used) AND 0 <= ALL (devices_used)),
  CONSTRAINT device_exists CHECK (cardinality(devices_used) <= devices_limit),
  CONSTRAINT runs_counted CHECK (runs >= 0),
  CONSTRAINT exclusive_alone CHECK (exclusive_run IS NULL OR runs = 1)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX node_name ON node (name) WHERE state_name <> 'removed';
CREATE UNIQUE INDEX node_known_as ON node (cluster, known_as) WHERE state_name <> 'removed' AND known_as IS NOT NULL;

-- Beside the node, because renewals and plans rewrite that row often and this is large.
CREATE TABLE inventory (
  node text COLLATE "C" PRIMARY KEY,
  inventory jsonb NOT NULL
);

CREATE TABLE enrolment (
  id text PRIMARY KEY,
  hash text NOT NULL UNIQUE,
  cluster text NOT NULL,
  pool text NOT NULL,
  created_by text NOT NULL,
  created_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  uses_left integer NOT NULL CHECK (uses_left >= 0)
);

CREATE TABLE frozen (
  cluster text PRIMARY KEY,
  silent integer NOT NULL,
  nodes integer NOT NULL,
  until_ms bigint NOT NULL
);

CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  epoch bigint NOT NULL,
  node text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  kind text NOT NULL CHECK (kind IN ('start', 'stop')),
  -- What a stop says; null for a start, whose command is built from rows when it is taken.
  stop jsonb,
  -- The session it was last handed to: committed before the command is sent.
  attempted_session text,
  CHECK ((kind = 'stop') = (stop IS NOT NULL)),
  UNIQUE (run, node, kind)
);
CREATE INDEX outbox_node ON outbox (node, id);

-- Leadership -----------------------------------------------------------------------------------------------------

-- The epoch has a unique index, so changing it is a key update: a decision holds FOR KEY SHARE on the row, which
-- a takeover waits for and a renewal of the lease does not.
CREATE TABLE leader (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch bigint NOT NULL UNIQUE,
  server text,
  holder jsonb,
  expires_ms bigint NOT NULL
);
INSERT INTO leader (epoch, expires_ms) VALUES (0, 0);

CREATE TABLE server (
  id text PRIMARY KEY,
  info jsonb NOT NULL,
  announced_ms bigint NOT NULL
);

CREATE TABLE decision (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  epoch bigint NOT NULL,
  sequence bigint NOT NULL,
  now_ms bigint NOT NULL,
  policy_version integer NOT NULL,
  engine_version text NOT NULL,
  plan_hash text NOT NULL,
  units integer NOT NULL,
  verdicts integer NOT NULL,
  applied integer NOT NULL,
  -- Which life of an engine it came from, its turn there, and the decides before it that gave nothing to commit, as
  -- [[sequence, ms], ...], each less the one before; null for a decision that was not made to be replayed.
  life integer,
  turn integer,
  quiet json,
  committed_ms bigint NOT NULL
);
CREATE INDEX decision_sequence ON decision (sequence, id);

-- What an engine is loaded from, as it was: where a replay starts. Retention keeps every event after the oldest.
CREATE TABLE snapshot (
  sequence bigint PRIMARY KEY,
  at_ms bigint NOT NULL,
  bytes bigint NOT NULL
);
CREATE TABLE snapshot_part (
  sequence bigint NOT NULL REFERENCES snapshot ON DELETE CASCADE,
  part integer NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (sequence, part)
);
ALTER TABLE snapshot_part ALTER data SET STORAGE EXTERNAL;

-- Who we are to clusters that others use too: what we make there bears it. It goes with the data to another server.
CREATE TABLE installation (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id uuid NOT NULL
);
INSERT INTO installation (id) VALUES (gen_random_uuid());

-- Log ------------------------------------------------------------------------------------------------------------

CREATE TABLE log_head (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  log_id uuid NOT NULL,
  sequence bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO log_head (log_id, sequence) VALUES (gen_random_uuid(), 0);

CREATE TABLE event (
  sequence bigint NOT NULL,
  at_ms bigint NOT NULL,
  version smallint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  job text COLLATE "C",
  project text COLLATE "C",
  -- json, not jsonb: written once, read whole.
  body json NOT NULL,
  PRIMARY KEY (sequence)
) PARTITION BY RANGE (sequence);
CREATE INDEX event_job ON event (job, sequence) WHERE job IS NOT NULL;
-- Few, and asked for the last ones: a job may have very many events since.
CREATE INDEX event_claim ON event (job, sequence) WHERE kind = 'job.claimed';

-- Partitions [first, below); made ahead by the store, dropped by retention.
CREATE TABLE event_partition (
  first bigint PRIMARY KEY,
  below bigint NOT NULL
);

-- Tenancy and identity -------------------------------------------------------------------------------------------

CREATE TABLE policy (
  version integer PRIMARY KEY,
  policy jsonb NOT NULL,
  created_ms bigint NOT NULL,
  created_by text NOT NULL
);

CREATE TABLE token (
  id text PRIMARY KEY,
  name text NOT NULL,
  hash text NOT NULL UNIQUE,
  role text NOT NULL CHECK (role IN ('viewer', 'member', 'admin')),
  project text COLLATE "C",
  created_ms bigint NOT NULL,
  created_by text NOT NULL,
  expires_ms bigint,
  last_used_ms bigint,
  revoked_ms bigint
);

-- Each row's hash covers the row and the hash before it, so that a changed or missing row shows.
CREATE TABLE audit (
  id bigint PRIMARY KEY,
  at_ms bigint NOT NULL,
  who text NOT NULL,
  came_from text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  outcome text NOT NULL,
  detail jsonb NOT NULL,
  hash text NOT NULL
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER event_append_only BEFORE UPDATE ON event
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
