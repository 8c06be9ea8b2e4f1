/*
 * One task and everybody who may write to it: slots that claim, start, vouch and end, reapers that take it away,
 * somebody who cancels. Each atomic block is one statement of the engine and names its file in
 * packages/posthaste/src/store/queries; between two blocks anything may happen, for any time: that is a pause, a crash, or
 * a message on its way.
 *
 * FENCE    what an end asks of the row      0 nothing  1 that it runs  2 that it runs here  3 that it is this claim (ours)
 * SHARED   whether the slots are one worker's, and so have one worker id
 * RECHECK  what the move of a recovery asks 0 nothing  1 the status    2 the claim          3 the claim, and its silence (ours)
 * LAWS     which of the laws a recovery must keep: 1 what has ended is not taken  2 and nobody loses a claim that was not
 *          judged  3 and none that was vouched for meanwhile
 * OWN      whose end it was, after a lost acknowledgement: 0 by the status  1 by the claim (ours)
 * RETRIES  how often an operator takes an end back
 * TAKEN    whether who asks for his own end is told of one that was taken back (ours: 1)
 * HEED     whether a return into the line looks at a requested cancellation (ours: 1)
 * WITNESS  nothing may be wrong with the model itself: these claims must be refuted. 1 nobody is ever reaped and then
 *          finished by another, 2 no end is ever refused, 3 no repeated end ever finds its own commit
 */
#ifndef FENCE
#define FENCE 3
#endif
#ifndef SHARED
#define SHARED 1
#endif
#ifndef RECHECK
#define RECHECK 3
#endif
#ifndef LAWS
#define LAWS 3
#endif
#ifndef OWN
#define OWN 1
#endif
#ifndef HEED
#define HEED 1
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef REAPERS
#define REAPERS 1
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
/* How often somebody who lives is silent for longer than the threshold. */
#ifndef LAPSES
#define LAPSES 1
#endif
/* How often a task goes back by its owner's own wish. */
#ifndef RETURNS
#define RETURNS 1
#endif

#ifndef RETRIES
#define RETRIES 0
#endif
#ifndef TAKEN
#define TAKEN 1
#endif

mtype = { READY, CLAIMED, RUNNING, COMPLETED, FAILED, CANCELLED };
mtype = { succeed, fail, retry };

/* The row. */
mtype place = READY;
byte claim;       /* claims are numbered here; in the tables they are random */
byte owner;       /* a worker id */
bool fresh;       /* somebody vouched for it within the threshold */
bool cancelAsked; /* cancel_requested_at */
byte endedBy;     /* finished_tasks.claim_id; 0: not the owner of a claim */
short failedBy;   /* attempts with the outcome FAILED: a bit for each claim */

short takenBack;  /* task_retries.claim_id: a bit for each claim */

/* What goes wrong, and what is known about it that no statement can see. */
byte crashes = CRASHES;
byte lapses = LAPSES;
byte returns = RETURNS;
byte retries = RETRIES;
short lost;       /* claims whose owner has crashed: a bit for each */
byte ends;
bool wasReaped;

#define isHeld (place == CLAIMED || place == RUNNING)
#define isOver (place == COMPLETED || place == FAILED || place == CANCELLED)
#define bit_of(n) (1 << n)

inline end_as(status, by) {
  ends++;
  assert(ends <= 1);                /* nothing ends twice, and no end is changed */
  place = status;
  endedBy = by
}

inline back_in_line() {
  assert(ends == 0);                /* what has ended does not come back */
#if HEED == 1
  if
  :: cancelAsked -> end_as(CANCELLED, 0)
  :: else -> place = READY
  fi
#else
  place = READY
#endif
}

inline crash_or_go_on() {
  if
  :: atomic { crashes > 0 -> crashes--; lost = lost | bit_of(mine) }; goto idle
  :: skip
  fi
}

proctype slot(byte self) {
  byte mine;
  mtype said;
  bool ok, isAhead, didCommit, isRepeated;

idle:
  atomic { mine = 0; didCommit = false; isRepeated = false; isAhead = false; ok = false; said = 0 };

end_idle:
  atomic {                                                   /* claim-tasks.ts */
    place == READY ->
    assert(!cancelAsked);           /* who was promised a cancellation does not see it run again */
    claim++; mine = claim; owner = self; fresh = true;
    if
    :: place = RUNNING
    :: place = CLAIMED; isAhead = true
    fi
  };
  crash_or_go_on();

  if
  :: isAhead ->
     if
     :: atomic {                                             /* heartbeat.ts, as a claimer */
          place == CLAIMED && claim == mine -> fresh = true
        }
     :: skip
     fi;
     crash_or_go_on();
     if
     :: atomic {                                             /* start-tasks.ts */
          if
          :: place == CLAIMED && claim == mine -> place = RUNNING; fresh = true
          :: else -> goto idle
          fi
        }
     :: atomic { returns > 0 -> returns--;                   /* settle-tasks.ts: release */
          if
          :: place == CLAIMED && claim == mine -> back_in_line()
          :: else
          fi;
          goto idle
        }
     fi;
     crash_or_go_on()
  :: else
  fi;

  /* The body runs. */
  if
  :: atomic {                                                /* heartbeat.ts, as a runner */
       place == RUNNING && claim == mine -> fresh = true
     }
  :: skip
  fi;
  crash_or_go_on();

  if
  :: said = succeed
  :: said = fail
  :: atomic { returns > 0 -> returns--; said = retry }
  fi;

settling:
  atomic {                                                   /* settle-tasks.ts, complete-tasks.ts */
#if FENCE == 0
    ok = true;
#elif FENCE == 1
    ok = (place == RUNNING);
#elif FENCE == 2
    ok = (place == RUNNING && owner == self);
#else
    ok = (place == RUNNING && claim == mine);
#endif
    if
    :: ok ->
       assert(claim == mine);       /* only who holds a task ends it */
       didCommit = true;
       if
       :: said == retry ->
          if
          :: HEED && cancelAsked -> end_as(CANCELLED, mine)
          :: else -> failedBy = failedBy | bit_of(mine); back_in_line()
          fi
       :: said != retry && cancelAsked -> end_as(CANCELLED, mine)
       :: said == succeed && !cancelAsked -> end_as(COMPLETED, mine);
#if WITNESS == 1
          assert(!wasReaped)
#endif
       :: said == fail && !cancelAsked -> end_as(FAILED, mine)
       fi
    :: else ->
#if WITNESS == 2
       assert(false);
#endif
       skip
    fi
  };

  if
  :: atomic { !isRepeated -> isRepeated = true };            /* the acknowledgement was lost */
     crash_or_go_on();
     goto settling
  :: atomic { !ok ->                                         /* find-own-commits.ts */
#if OWN == 0
       ok = isOver;
#else
       ok = ((isOver && endedBy == mine) || (failedBy & bit_of(mine)) || (TAKEN && (takenBack & bit_of(mine))));
#endif
#if WITNESS == 3
       assert(!ok);
#endif
       assert(ok == didCommit)      /* who asks whether an end was his own is told the truth */
     }
  :: ok
  fi;
  goto idle
}

proctype reaper() {
  byte judged;
  mtype seen;

end_round:
  do
  :: atomic { isHeld && !fresh -> judged = claim; seen = place };   /* recover-tasks.ts: find, run stale and claim stale */
     /* A hook may be asked here, and takes its time. */
     atomic {                                                /* recover-tasks.ts: apply */
       if
#if RECHECK == 0
       :: true ->
#elif RECHECK == 1
       :: place == seen ->
#elif RECHECK == 2
       :: isHeld && claim == judged ->
#else
       :: isHeld && claim == judged && !fresh ->
#endif
          assert(!isOver);
          assert(LAWS < 2 || claim == judged);
          assert(LAWS < 3 || !fresh);
          wasReaped = true;
          if
          :: back_in_line()
          :: seen == RUNNING -> end_as((cancelAsked -> CANCELLED : FAILED), 0)
          fi
#if RECHECK > 0
       :: else
#endif
       fi;
       judged = 0; seen = 0
     }
  od
}

/* Time passes: nobody vouches for what its owner has crashed with … */
proctype clock() {
end_clock:
  do
  :: atomic { isHeld && fresh && (lost & bit_of(claim)) -> fresh = false }
  od
}

/* … and one who lives may be frozen for longer than the threshold. */
proctype freezer() {
end_freezer:
  do
  :: atomic { isHeld && fresh && !(lost & bit_of(claim)) && lapses > 0 -> lapses--; fresh = false }
  :: break                                                   /* nothing has to go wrong */
  od
}

/* cancel() in functions/task_api.sql, called by cancel-task.ts: three statements, repeated until one hits. */
proctype canceller() {
end_wish:
  do
  :: atomic { place == READY -> end_as(CANCELLED, 0) }; break
  :: atomic { place == CLAIMED -> end_as(CANCELLED, 0) }; break
  :: atomic { place == RUNNING -> cancelAsked = true }; break
  :: atomic { isOver -> break }
  :: break                                                   /* nobody has to cancel */
  od
}

/* retry_task() in functions/operators.sql, called by retry-tasks.ts. The next series has claims of its own. */
proctype operator() {
end_wish:
  do
  :: atomic { (place == FAILED || place == CANCELLED) && retries > 0 ->
       retries--;
       takenBack = takenBack | bit_of(endedBy);
       ends = 0; endedBy = 0; cancelAsked = false;
       place = READY
     }
  :: break                                                   /* nobody has to retry */
  od
}

init {
  byte n = 0;
  atomic {
    do
    :: n < SLOTS -> n++; run slot((SHARED -> 1 : n))
    :: else -> break
    od;
    n = 0;
    do
    :: n < REAPERS -> n++; run reaper()
    :: else -> break
    od;
    n = 0;
    run clock();
    run freezer();
#if RETRIES > 0
    run operator();
#endif
#ifdef CANCELS
    run canceller()
#endif
  }
}

/* Whatever happens, the task ends. */
ltl ends_at_last { <> isOver }
