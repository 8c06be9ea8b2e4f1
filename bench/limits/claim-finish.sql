-- Claims :rows tasks and finishes the same ones: two statements, two commits, as a worker does it. The input is not read.
with claimed as (
  delete from bench_limits.ready_tasks
   where ctid = any (array(
           select ctid from bench_limits.ready_tasks
            where queue = 'default'
            order by priority, enqueued_at, task_id
            limit :rows
              for update skip locked))
  returning task_id
), activated as (
  insert into bench_limits.active_tasks (task_id, claim_id, worker_id, started_at)
  select task_id, (select gen_random_uuid()), '00000000-0000-0000-0000-000000000001', clock_timestamp()
    from claimed
  returning task_id
)
select coalesce(array_agg(task_id), '{}')::text as ids from activated \gset
with ended as (
  delete from bench_limits.active_tasks where task_id = any (:ids::uuid[])
  returning task_id, claim_id, worker_id, started_at
)
insert into bench_limits.finished_tasks (task_id, claim_id, worker_id, started_at, finished_at, result)
select task_id, claim_id, worker_id, started_at, clock_timestamp(), 'null'
  from ended;
