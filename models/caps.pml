/*
 * How many tasks of a queue may be under way: claimers that count and then take, READ COMMITTED as everywhere. A statement
 * sees what was committed when it began, and not what is committed while it waits for a lock.
 *
 * LOCK  0 none  1 in the statement that counts  2 in a statement of its own before it, but given up before the commit
 *       3 in a statement of its own before it, until the commit (ours)
 * WITNESS  1 the cap is never reached, which must be refuted
 */
#ifndef LOCK
#define LOCK 3
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#ifndef CLAIMERS
#define CLAIMERS 3
#endif
#ifndef CAP
#define CAP 1
#endif

byte underWay;    /* committed rows of active_tasks that count for the cap */
byte locked;      /* the claimer that holds the advisory lock; 0: nobody */

proctype claimer(byte self) {
  byte counted;

end_claim:
  do
  :: true ->
#if LOCK >= 2
     atomic { locked == 0 -> locked = self };                /* lock-caps.ts */
#endif
     counted = underWay;                                     /* claim-tasks.ts: its snapshot, with the count of pick-ready.ts */
#if LOCK == 1
     atomic { locked == 0 -> locked = self };                /* claim-tasks.ts: it waits in the middle */
#endif
#if LOCK == 2
     locked = 0;
#endif
     atomic {                                                /* claim-tasks.ts: what it took is seen when it commits */
       if
       :: counted < CAP ->
          underWay++;
          assert(underWay <= CAP);
#if WITNESS == 1
          assert(underWay < CAP);
#endif
       :: else
       fi;
#if LOCK == 1 || LOCK == 3
       locked = 0;
#endif
       counted = 0
     }
  od
}

/* settle-tasks.ts: an end takes no lock, and only ever makes room. */
proctype worker() {
end_work:
  do
  :: atomic { underWay > 0 -> underWay-- }
  od
}

init {
  byte n = 0;
  atomic {
    do
    :: n < CLAIMERS -> n++; run claimer(n)
    :: else -> break
    od;
    n = 0;
    run worker()
  }
}
