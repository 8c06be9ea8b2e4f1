-- As many as :rows tasks in one statement. The server makes them up: nothing is sent over the wire or parsed.
with sent as (
  insert into bench_limits.submissions (task_id, sent_at, priority, name, queue, input)
  select uuidv7(), clock_timestamp(), 100, 'bench', 'default', json_build_object('n', n)
    from generate_series(1, :rows) as n
  returning task_id, sent_at, priority, queue
)
insert into bench_limits.ready_tasks (task_id, enqueued_at, priority, queue)
select task_id, sent_at, priority, queue from sent;
