-- oldest library: 0.1.0
-- How long a task of this name is kept after its end. Null: as long as the config says for its status.
alter table @schema.task_definitions add column keep_hours integer check (keep_hours > 0);
