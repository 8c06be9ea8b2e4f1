/*
 * Whose signs of life count. A task was taken from a worker that lives and does not know it yet (a zombie, which goes on
 * vouching); its next owner is killed. Somebody must notice.
 *
 * KEYED  a heartbeat is for  0 the task  1 the claim (ours)
 * START  a claim             0 inherits the last heartbeat of the task, as where they are kept by task in a table of their
 *        own  1 is a sign of life itself (ours)
 *
 * Time passes in periods, and a period ends only when every worker that lives has vouched in it: that is what an interval
 * shorter than half of the threshold is for.
 */
#ifndef KEYED
#define KEYED 1
#endif
#ifndef START
#define START 1
#endif

mtype = { READY, RUNNING, DONE };

mtype place = READY;     /* it was taken from the zombie, who had been silent for too long */
byte claim = 1;
bool stale = true;       /* no heartbeat in the last period: what active_tasks.heartbeat_at tells */
bool heard;              /* a heartbeat in this period */

bool vouched[4];         /* by claim: whether its owner has spoken in this period */
bool dead[4];

#define ZOMBIE 1
#define VICTIM 2
#define HEIR 3

#define hasSpoken(n) (claim < n || dead[n] || vouched[n])

proctype vouches(byte mine) {
end_speaking:
  do
  :: atomic {                                                /* heartbeat.ts */
       !dead[mine] && !vouched[mine] ->
       vouched[mine] = true;
       if
#if KEYED == 0
       :: place == RUNNING -> heard = true; stale = false
#else
       :: place == RUNNING && claim == mine -> heard = true; stale = false
#endif
       :: else
       fi
     }
  :: dead[mine] -> break
  od
}

/* Its body hangs; its thread vouches, and is told of nothing. */
proctype zombie() {
  run vouches(ZOMBIE)
}

proctype owner(byte mine) {
  atomic {                                                   /* claim-tasks.ts */
    place == READY && claim == mine - 1 ->
    place = RUNNING; claim = mine;
#if START == 1
    heard = true; stale = false;
#endif
    vouched[mine] = true;
    run vouches(mine)
  };
  if
  :: mine == VICTIM -> dead[mine] = true
  :: else ->
     atomic {                                                /* settle-tasks.ts */
       place == RUNNING && claim == mine -> place = DONE
     }
  fi
}

proctype reaper() {
end_round:
  do
  :: atomic {                                                /* recover-tasks.ts: run stale, found and applied */
       place == RUNNING && stale ->
       assert(dead[claim]);                                  /* a worker that vouches loses nothing */
       place = READY
     }
  od
}

proctype clock() {
end_clock:
  do
  :: atomic {
       place == RUNNING && vouched[ZOMBIE] && hasSpoken(VICTIM) && hasSpoken(HEIR) ->
       stale = !heard; heard = false;
       vouched[ZOMBIE] = false; vouched[VICTIM] = false; vouched[HEIR] = false
     }
  od
}

init {
  atomic { run zombie(); run owner(VICTIM); run owner(HEIR); run reaper(); run clock() }
}

/* Whoever dies, somebody gets the task done. */
ltl done_at_last { <> (place == DONE) }
