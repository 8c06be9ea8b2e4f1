-- One task, one statement, one commit.
with sent as (
  insert into bench_limits.submissions (task_id, sent_at, priority, name, queue, input)
  values (uuidv7(), clock_timestamp(), 100, 'bench', 'default', '{"n": 1}')
  returning task_id, sent_at, priority, queue
)
insert into bench_limits.ready_tasks (task_id, enqueued_at, priority, queue)
select task_id, sent_at, priority, queue from sent;
