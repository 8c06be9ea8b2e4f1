/*
 * The lost join. Two branches of a run end at the same time, in two workers; what follows both must start, and once. A
 * transaction's writes are seen when it commits, a statement sees what was committed when it began, and whoever dies
 * before the commit leaves nothing but a task for somebody else.
 *
 * LOCK     the root of the run is locked  0 never  1 after the counter was read  2 in the statement that counts, whose
 *          snapshot is older than the wait  3 in a statement of its own before all others (ours)
 * ADVANCE  the run goes on  0 in a transaction behind the one that ended the task  1 in the same (ours)
 * ASKS     an end counts  0 however often it is written  1 only for a node that has not ended (ours)
 * REPAIR   the maintenance  0 does not look after runs  1 repairs what is stuck, under the lock (ours)  2 without it
 * DAMAGE   1: somebody has ended the first branch by hand, and counted nothing
 * STEER    somebody pauses the run and resumes it  0 nobody  1 both under the lock (ours)  2 resumes without it
 *          3 pauses without it
 * WITNESS  claims that must be refuted: 1 nobody waits for the lock  2 nobody dies with the lock in his hands
 *          3 the join never gets ready while the run is paused  4 nothing is ever repaired
 */
#ifndef LOCK
#define LOCK 3
#endif
#ifndef ADVANCE
#define ADVANCE 1
#endif
#ifndef ASKS
#define ASKS 1
#endif
#ifndef REPAIR
#define REPAIR 0
#endif
#ifndef REPAIRERS
#define REPAIRERS 1
#endif
#ifndef DAMAGE
#define DAMAGE 0
#endif
#ifndef STEER
#define STEER 0
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef REPEATS
#define REPEATS 1
#endif
#ifndef WITNESS
#define WITNESS 0
#endif

mtype = { PENDING, READY, SENT };

/* What is committed. */
bool ended[3];             /* by branch: its task, and its node */
byte met;                  /* workflow_nodes.met of the join */
mtype join = PENDING;      /* its workflow_nodes.status */
byte tasks;                /* that were sent for it, and not taken back */
bool paused;

byte locked;               /* who holds the row of the root; 0: nobody */
byte working;              /* workers that have not done their part */
byte crashes = CRASHES;
byte repeats = REPEATS;

inline lockRoot() {
#if WITNESS == 1
  assert(locked == 0);
#endif
  atomic { locked == 0 -> locked = self }
}

inline unlockRoot() {
  if
  :: locked == self -> locked = 0
  :: else
  fi
}

/* The join has what it needs; a run that is paused sends nothing. */
inline startJoin() {
  assert(ended[1] && ended[2]);                              /* it starts behind both */
  if
  :: isPaused ->
     join = READY;
#if WITNESS == 3
     assert(false);
#endif
  :: else ->
     assert(!paused);                                        /* nothing is sent while the run is paused */
     join = SENT; tasks++;
     assert(tasks <= 1)                                      /* it starts once */
  fi
}

/* Dies, and everything that is not committed with it: the task is somebody else's by recover-tasks.ts. */
inline mayDie() {
  if
  :: atomic { crashes > 0 -> crashes--;
#if WITNESS == 2
       assert(locked != self);
#endif
       unlockRoot(); goto again }
  :: true
  fi
}

proctype worker(byte self) {
  byte counted;
  bool isMine, isPaused;

again:
#if ADVANCE == 0
  atomic { isMine = !ended[self]; ended[self] = true };      /* settle-tasks.ts, committed */
  mayDie();
#endif
#if LOCK == 3
  lockRoot();                                                /* advance-workflows.ts: lock_runs_of */
  mayDie();
#endif
#if LOCK == 2
  atomic { counted = ended[1] + ended[2] - ended[self]; isPaused = paused };
  lockRoot();
  mayDie();
#else
  atomic { counted = met; isPaused = paused };               /* advance-workflows.ts: what it sees */
#endif
#if LOCK == 1
  lockRoot();
  mayDie();
#endif
#if ADVANCE == 1
  isMine = !ended[self];                                     /* settle-tasks.ts: fenced by the claim */
  mayDie();
#endif
  atomic {                                                   /* advance-workflows.ts: advance, and the commit */
    if
    :: isMine || ASKS == 0 ->
       ended[self] = true;
       met = counted + 1;
       if
       :: met >= 2 && join == PENDING -> startJoin()
       :: else
       fi
    :: else
    fi;
    unlockRoot();
    counted = 0; isMine = false; isPaused = false
  };
  if                                                         /* its acknowledgement is lost: it is written again */
  :: atomic { repeats > 0 -> repeats--; goto again }
  :: true
  fi;
  working--
}

/* One round: found in one statement, repaired in another. */
inline repairRound() {
  atomic { isStuck = join == PENDING && ended[1] && ended[2]; isPaused = paused };   /* repair-workflows.ts: find */
  if
  :: isStuck ->
#if REPAIR == 1
     lockRoot();                                             /* repair-workflows.ts: repair */
     atomic { isStuck = join == PENDING && ended[1] && ended[2]; isPaused = paused };
#endif
     atomic {
       if
       :: isStuck ->
#if WITNESS == 4
          assert(false);
#endif
          met = 2; startJoin()
       :: else
       fi;
       unlockRoot()
     }
  :: else
  fi
}

/* Looks at any time; and once more, when nobody works any more. */
proctype repairer(byte self) {
  bool isStuck, isPaused;
  repairRound();
  working == 0;
  repairRound();
  isStuck = false; isPaused = false
}

proctype operator(byte self) {
  bool wasReady, wasSent;
#if STEER != 3
  lockRoot();                                                /* steer-workflows.ts: pause */
#endif
  wasSent = join == SENT;
  atomic {
    paused = true;
    if
    :: wasSent -> join = READY; tasks--                      /* it has not begun, and is taken back */
    :: else
    fi;
    unlockRoot()
  };
#if STEER != 2
  lockRoot();                                                /* steer-workflows.ts: resume */
#endif
  wasReady = join == READY;
  atomic {
    paused = false;
    if
    :: wasReady -> join = SENT; tasks++; assert(tasks <= 1)
    :: else
    fi;
    unlockRoot()
  }
}

init {
  byte n = 0;
  atomic {
    working = 2 - DAMAGE;
    ended[1] = DAMAGE;
#if DAMAGE == 0
    run worker(1);
#endif
    run worker(2);
#if REPAIR > 0
    do
    :: n < REPAIRERS -> n++; run repairer(2 + n)
    :: else -> break
    od;
#endif
#if STEER > 0
    run operator(9);
#endif
    n = 0
  };
  _nr_pr == 1;
  assert(tasks == 1 && join == SENT)                         /* when all is done, the join has started */
}
