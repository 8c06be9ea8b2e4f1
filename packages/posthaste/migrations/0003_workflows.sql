-- oldest library: 0.1.0
-- Workflows: graphs, runs, and the state of every node.
--
-- A graph is stored once, by its digest, and never changes; a run keeps its graph. Changing
-- columns stand apart from constant ones: workflow_states and workflow_nodes are narrow rows, none of whose indexed columns is ever
-- updated (except when a run ends), so that most of their updates stay on their page.
--
-- One lock for a tree of runs: a session that changes a run of the tree, or ends one of its tasks, holds the row of the ROOT
-- run in workflow_states. Roots are locked in id order, and before any row of a task. See functions/workflow_advance.sql.

create table @schema.workflow_graphs (
  graph_id  integer generated always as identity primary key,
  version   integer not null,
  nodes     integer not null,
  digest    text collate "C" not null unique,
  name      text collate "C" not null,
  on_error  text collate "C" not null check (on_error in ('fail', 'pause')),
  success   jsonb,
  output    jsonb not null,
  -- The graph of the definition; the columns and tables below are derived from it.
  graph     jsonb not null,
  stored_at timestamptz not null default clock_timestamp()
);

create table @schema.graph_nodes (
  graph_id       integer not null,
  node_no        integer not null,
  -- How many nodes it needs, and how many of these needs have to be met.
  needs          integer not null,
  required       integer not null,
  -- The graph of a nested workflow.
  child_graph_id integer,
  priority       smallint,
  -- A gate: any, quorum, when.
  is_gate        boolean not null,
  -- Its failure does not fail the run.
  is_optional    boolean not null,
  good_for_ms    double precision,
  kind           text collate "C" not null check (kind in ('task', 'workflow', 'each', 'any', 'quorum', 'when')),
  id             text collate "C" not null,
  task_name      text collate "C",
  queue          text collate "C",
  -- The nodes that it needs, in the order of its list.
  sources        integer[] not null,
  input          jsonb,
  over           jsonb,
  condition      jsonb,
  good_until     jsonb,
  options        jsonb,
  flags          jsonb,
  primary key (graph_id, node_no)
);

-- from the name of a node, as tasks carry it, to its number: the one index that can serve this look-up. With (id, graph_id) the
-- planner chose between it and the primary key, and a plan made while the table was empty read whole graphs later: over 30 s
-- instead of 0.6 s for the first large graph of a session.
create unique index graph_nodes_name_idx on @schema.graph_nodes ((graph_id::text || '/' || id));

create table @schema.graph_edges (
  graph_id    integer not null,
  from_no     integer not null,
  to_no       integer not null,
  -- Met however the source ended; else only by its success.
  accepts_end boolean not null,
  primary key (graph_id, from_no, to_no)
);

-- the needs of a node: recounting, and the search for stuck runs
create index graph_edges_to_idx on @schema.graph_edges (graph_id, to_no);

-- Runs as they were started: never changes.
create table @schema.workflows (
  workflow_id   uuid primary key,
  -- The outermost run of the tree; its own id if it is not nested.
  root_id       uuid not null,
  parent_id     uuid,
  started_at    timestamptz not null,
  graph_id      integer not null,
  parent_node   integer,
  parent_item   integer,
  name          text collate "C" not null,
  key           text collate "C",
  input         jsonb not null,
  trace_context jsonb
);

-- start with `key`: one run per name and key
create unique index workflows_key_idx on @schema.workflows (name, key) where key is not null;
-- lists of one name, newest first
create index workflows_name_idx on @schema.workflows (name, workflow_id);
-- pause, resume, cancel go down the tree
create index workflows_parent_idx on @schema.workflows (parent_id) where parent_id is not null;

create table @schema.workflow_states (
  workflow_id         uuid primary key,
  cancel_requested_at timestamptz,
  paused_at           timestamptz,
  ended_at            timestamptz,
  -- Nodes that have not ended, gates included.
  open_nodes          integer not null,
  -- Ended nodes, without gates and items; failed_required: those that are not optional.
  completed           integer not null default 0,
  failed              integer not null default 0,
  failed_required     integer not null default 0,
  skipped             integer not null default 0,
  status              text collate "C" not null
                      check (status in ('RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED')),
  result              jsonb,
  error               jsonb,
  constraint workflow_states_ended check ((ended_at is not null) = (status in ('COMPLETED', 'FAILED', 'CANCELLED')))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- reconciliation and lists: open runs
create index workflow_states_open_idx on @schema.workflow_states (workflow_id) where ended_at is null;
-- lists of failed and cancelled runs, newest first
create index workflow_states_failed_idx on @schema.workflow_states (status, workflow_id)
  where status in ('FAILED', 'CANCELLED');
-- retention
create index workflow_states_ended_idx on @schema.workflow_states (ended_at) where ended_at is not null;

create table @schema.workflow_nodes (
  workflow_id  uuid not null,
  node_no      integer not null,
  -- -1: the node itself; else one of its items.
  item         integer not null,
  graph_id     integer not null,
  -- How many of its needs are met, and how many can no longer be met.
  deps_met     integer not null default 0,
  deps_failed  integer not null default 0,
  -- The items of a started fan-out.
  items_left   integer,
  items_failed integer,
  -- How often it was started again.
  retries      integer,
  -- Its task or its nested run, if it has begun.
  task_id      uuid,
  child_id     uuid,
  ended_at     timestamptz,
  -- RUNNING is written for fan-outs and nested runs only: the task's own row says whether it has begun.
  status       text collate "C" not null
               check (status in ('PENDING', 'READY', 'ENQUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'SKIPPED')),
  -- For a join: the sources that were COMPLETED when it was decided.
  chosen       integer[],
  -- The error of a node without a task.
  error        jsonb,
  primary key (workflow_id, node_no, item)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- Earlier states of nodes that were started again.
create table @schema.earlier_nodes (
  workflow_id uuid not null,
  node_no     integer not null,
  item        integer not null,
  retries     integer not null,
  task_id     uuid,
  child_id    uuid,
  ended_at    timestamptz,
  status      text collate "C" not null,
  error       jsonb,
  primary key (workflow_id, node_no, item, retries)
);

-- Types for arguments of functions. They never change: functions of two versions use them during a deployment.

-- A node that has just ended, or one of its items.
create type @schema.ended_node as (workflow_id uuid, graph_id integer, node_no integer, status text);
-- A node whose needs are met.
create type @schema.ready_node as (workflow_id uuid, graph_id integer, node_no integer);
