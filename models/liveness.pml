/*
 * Worker A holds a task; its session holds a lock; somebody looks after it, and takes its task when it is dead. A's session
 * may be cut, A may be frozen and woken, A may be killed. The reaper and worker B are always well.
 *
 * Each atomic block is one statement, or a part of one that sees the world at another moment than the rest: a look reads the
 * registry as it was when it began, and pg_locks as they are when it gets there.
 *
 * HEARD   the verdict asks whether anything was heard since the lock was missed (ours: 1)
 * KEY     the verdict asks whether the row still names the lock that was missed (ours: 1)
 * REMARK  a look that misses a lock, and finds that its owner was heard since it was first missed, begins anew (ours: 1)
 * NEWID   whoever finds itself declared dead comes back under a new id (ours: 1)
 * FENCE   an end names its claim (ours: 1)
 * WITNESS these must be refuted: 1 nobody is ever declared dead, 2 nobody ever comes back from the dead
 *
 * Time is not modelled, but two promises about it are: a grace ends only when A, if it is neither dead nor frozen, has been
 * heard since its session was cut (it reconnects faster than that); and what is frozen is woken at last.
 */
#ifndef HEARD
#define HEARD 1
#endif
#ifndef KEY
#define KEY 1
#endif
#ifndef REMARK
#define REMARK 1
#endif
#ifndef NEWID
#define NEWID 1
#endif
#ifndef FENCE
#define FENCE 1
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#ifndef CUTS
#define CUTS 2
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef FREEZES
#define FREEZES 1
#endif

mtype = { READY, RUNNING, DONE };
mtype = { running, dead };

/* A's row in workers. Instants are kept as what they are compared with. */
mtype state = running;
byte rowKey = 1;
bool isMissing;      /* lock_missing_since is set … */
bool isOld;          /* … and a grace ago */
bool heardSince;     /* last_heartbeat_at > lock_missing_beat */
bool heardSinceLook; /* last_heartbeat_at has moved since the look that is under way has read it */
bool hasNewRow;      /* A has come back under a new id: nobody misses that one here */

/* A itself. */
bool isAlive = true;
bool isFrozen;
byte session = 1;    /* the key of the lock that its session holds; 0: it has none */
byte keys = 1;       /* a new one for every session */
bool isUnheard;      /* its session was cut, and it was not heard since */
bool wasLate;        /* and a whole grace has passed */
bool holds = true;   /* it runs the task, as far as it knows */
byte aClaim = 1;

/* The task. */
mtype place = RUNNING;
byte claim = 1;
bool isAs = true;    /* active_tasks.worker_id is A's, in the row above */
byte results;

#define canAct (isAlive && !isFrozen)

/* The liveness thread: liveness-session.ts */
proctype thread() {
end_thread:
  do
  :: atomic {                                                /* liveness.ts: takeLock, under a new key */
       canAct && session == 0 -> keys++; session = keys
     }
  :: atomic {                                                /* liveness.ts: beat */
       canAct && session > 0 && !hasNewRow && state == running &&
         (rowKey != session || isUnheard || !heardSince || !heardSinceLook) ->
       rowKey = session; heardSince = true; heardSinceLook = true; isUnheard = false; wasLate = false
     }
  :: atomic {                                                /* liveness.ts: beat, refused; then register-worker.ts */
       canAct && session > 0 && !hasNewRow && state == dead ->
#if WITNESS == 2
       assert(false);
#endif
#if NEWID == 1
       hasNewRow = true;
#else
       state = running; rowKey = session; isMissing = false; isOld = false;
#endif
       isUnheard = false; wasLate = false;
       holds = false                                         /* what it runs is told to stop */
     }
  od
}

/* A's body. What was told to stop may end all the same, at the same moment. */
proctype body() {
  bool ok;
end_body:
  atomic {                                                   /* settle-tasks.ts */
    canAct ->
#if FENCE == 1
    ok = (place == RUNNING && claim == aClaim);
#else
    ok = (place != READY);
#endif
    if
    :: ok && holds -> results++; assert(results <= 1); place = DONE
    :: else
    fi
  }
}

/* Looks after A: liveness-session.ts of another worker. */
proctype checker() {
  byte key;
  bool wasMissing, isHeld;
end_look:
  do
  :: atomic {                                                /* liveness.ts: look, its snapshot of the registry */
       state == running && !hasNewRow ->
       key = rowKey; wasMissing = isMissing;
#if REMARK == 1
       wasMissing = isMissing && !heardSince;
#endif
       heardSinceLook = false
     };
     isHeld = (session == key);                              /* liveness.ts: look, pg_locks */
     atomic {                                                /* liveness.ts: look, what it remembers */
       if
       :: rowKey == key && isHeld && isMissing -> isMissing = false; isOld = false
       :: rowKey == key && !isHeld && !wasMissing ->
          isMissing = true; isOld = false; heardSince = heardSinceLook
       :: else
       fi
     };
     atomic {                                                /* liveness.ts: declareDead */
       if
       :: !isHeld && state == running && isMissing && isOld && session != key &&
          (!HEARD || !heardSince) && (!KEY || rowKey == key) ->
          assert(!isAlive || wasLate);                       /* nobody is called dead who was heard within the grace */
#if WITNESS == 1
          assert(false);
#endif
          state = dead
       :: else
       fi;
       key = 0; isHeld = false; wasMissing = false
     }
  od
}

proctype reaper() {
end_round:
  do
  :: atomic {                                                /* recover-tasks.ts: worker crashed */
       place == RUNNING && isAs && state == dead -> place = READY; isAs = false
     }
  od
}

proctype b() {
end_b:
  do
  :: atomic { place == READY -> place = RUNNING; claim++ };  /* claim-tasks.ts */
     atomic {                                                /* settle-tasks.ts */
       place == RUNNING && claim != aClaim -> results++; assert(results <= 1); place = DONE
     }
  od
}

/* A grace passes. */
proctype clock() {
end_clock:
  do
  :: atomic {
       isMissing && !isOld && (!canAct || !isUnheard) ->
       isOld = true;
       wasLate = isUnheard
     }
  od
}

proctype nemesis() {
  byte cuts = CUTS, freezes = FREEZES, kills = KILLS;
end_nemesis:
  do
  :: atomic { cuts > 0 && isAlive && session > 0 -> cuts--; session = 0; isUnheard = true }
  :: atomic { freezes > 0 && canAct -> freezes--; isFrozen = true }
  :: atomic { kills > 0 && isAlive -> kills--; isAlive = false; session = 0 }
  :: break                                                   /* nothing has to go wrong */
  od
}

proctype waker() {
end_waker:
  do
  :: atomic { isFrozen -> isFrozen = false }
  od
}

init {
  atomic {
    run thread(); run body(); run checker(); run reaper(); run b(); run clock(); run nemesis(); run waker()
  }
}

/* Whatever becomes of A, its task gets done. */
ltl done_at_last { <> (place == DONE) }
