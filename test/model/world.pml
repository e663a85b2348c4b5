/*
 * What surrounds the record: faults, the network, two clocks, retention, the provider.
 *
 * `faults` bounds how many faults one history has: lost requests, lost replies, late and doubled messages, crashes, calls
 * whose outcome is not known, jumps of the store's clock. Interleavings, pauses and the passing of time are free.
 */
/* Settings of a run. They never change, so they are no part of a state. */
hidden byte route, step;  /* onUnknown of the route, and of its one step */
hidden byte later;        /* attempts of the second caller */
hidden byte looks;        /* of the reconciler */
hidden byte decisions;    /* of the person */
hidden byte plain;        /* the handler calls the provider outside of steps */
hidden byte lags;         /* the provider shows an effect a tick later */
hidden byte honours;      /* the provider honours references */
hidden byte retention;    /* retention may end */
hidden byte forgets;      /* the fence of a deleted record may be forgotten */
hidden byte back;         /* ticks by which the store's clock may step back */
hidden byte forward;      /* the store's clock may leap ahead */
hidden byte standstill;   /* the process's clock stands still while its machine is suspended */

#define HOLD 1
#define VERIFY 2
#define RERUN 3
#define MARKED (route != RERUN)
#define TAKES (route == HOLD -> take_none : take_lapsed)

#define FOUND 253
mtype:verdicts = { no_verdict, was_found, was_absent, not_visible_yet };

#define AGED (LEASE + 1)

byte faults;
byte trust[2];      /* by the process's own clock: ticks for which the attempt may still count on its lease */

/* Used within one atomic step only, so no part of a state. */
mtype:fates = { delivered, reply_lost, request_lost, delayed, doubled };
hidden mtype:fates fate;
hidden mtype:outcomes result;
hidden mtype:verdicts verdict;
hidden byte age;

/* ---- the provider ---- */
byte effects;             /* in this life of the record */
bool visible;             /* the provider's index shows the effect */
byte reference;           /* the reference it has seen; 0: none */
byte answered;            /* the answer that was given to some caller as the stored one */

inline next_life() { effects = 0; visible = false; reference = 0; answered = 0 }

inline call_provider(who) {
  /* To a provider that honours references, one that it has seen says nothing new. It is the same on every attempt. */
  if
  :: honours && reference == (slip(REFERENCE_OF_THE_ATTEMPT) -> who : 1) -> skip
  :: else -> effects++
  fi;
  reference = (slip(REFERENCE_OF_THE_ATTEMPT) -> who : 1);
  visible = visible || !lags;
  /* At most one effect. */
  assert(effects <= 1)
}

/* Every answer that was given as the stored one is the same. */
inline tell(made) {
  assert(answered == 0 || answered == made);
  answered = made
}

/* ---- the network ---- */
/* One message at a time may be under way for any while. */
mtype:verbs lateVerb = no_verb;
byte lateMe, lateFence;
mtype:takeovers lateTake = take_none;
bool lateGivesBack;       /* the caller gave up, and would give back what a late answer brings */

#define ARRIVES (fate == delivered || fate == reply_lost || fate == doubled)
#define ANSWERED (fate == delivered || fate == doubled)

inline choose_fate() {
  if
  :: fate = delivered
  :: faults > 0 -> faults--; fate = reply_lost
  :: faults > 0 -> faults--; fate = request_lost
  :: faults > 0 && lateVerb == no_verb -> faults--; fate = delayed
  :: faults > 0 && lateVerb == no_verb -> faults--; fate = doubled
  fi
}

inline post(what, who, at, take) {
  if
  :: fate == delayed || fate == doubled ->
     lateVerb = what; lateMe = who; lateFence = at; lateTake = take; lateGivesBack = false
  :: else
  fi
}

inline late_is_read() {
  lateVerb = no_verb; lateMe = 0; lateFence = 0; lateTake = take_none; lateGivesBack = false
}

proctype Network() {
  mtype:come_by origin;
  byte fence;
end:
  do
  :: atomic { lateVerb == v_claim ->
       claim(lateMe, lateTake, MARKED, result, fence, origin);
       if
       :: lateGivesBack && result == granted ->
          /* The answer found nobody waiting for it. What a vanished owner left open stays open. */
          lateFence = fence;
          if
          :: (origin == of_lapsed || origin == of_suspended) && !slip(LATE_ANSWER_RELEASES) -> lateVerb = v_suspend
          :: else -> lateVerb = v_release
          fi
       :: else -> late_is_read()
       fi;
       origin = no_origin; fence = 0 }
  :: atomic { lateVerb == v_complete -> complete(lateMe, lateFence, lateMe, result); late_is_read() }
  :: atomic { lateVerb == v_release -> release(lateMe, lateFence, result); late_is_read() }
  :: atomic { lateVerb == v_suspend -> suspend(lateMe, lateFence, false, false, result); late_is_read() }
  :: atomic { lateVerb == v_hold -> suspend(lateMe, lateFence, false, true, result); late_is_read() }
  :: atomic { lateVerb == v_renew -> renew(lateMe, lateFence, result); late_is_read() }
  :: atomic { lateVerb == v_start_step -> start_step(lateMe, lateFence, result); late_is_read() }
  :: atomic { lateVerb == v_finish_step -> finish_step(lateMe, lateFence, result); late_is_read() }
  :: atomic { lateVerb == v_adopt -> settle(lateMe, lateFence, v_adopt, FOUND, result); late_is_read() }
  :: atomic { lateVerb == v_give_back ->
       settle(lateMe, lateFence, v_give_back, 0, result); late_is_read() }
  od
}

/* ---- the clocks ---- */
#define AGES (lags && row.step == started && row.lastStart < AGED)
#define TIME_MATTERS (row.lease > 1 || trueLease > 0 || AGES || (effects > 0 && !visible) || trust[0] > 0 || trust[1] > 0)

inline tick() {
  if :: row.lease > 1 -> row.lease-- :: else fi;
  if :: trueLease > 0 -> trueLease-- :: else fi;
  if :: lags && row.step == started && row.firstStart < AGED -> row.firstStart++ :: else fi;
  if :: AGES -> row.lastStart++ :: else fi;
  if :: effects > 0 -> visible = true :: else fi;
  for (i : 0 .. 1) {
    if
    :: standstill && trust[i] > 0 && faults > 0 -> faults--
    :: trust[i] > 0 -> trust[i]--
    :: trust[i] == 0
    fi
  }
  i = 0
}

proctype Clock() {
  byte i;
end:
  do
  :: atomic { TIME_MATTERS -> tick() }
  :: atomic { retention && row.state != absent && !trulyDue -> due = true; trulyDue = true }
  :: atomic { retention && due && row.state != absent && EXPIRED -> sweep() }
  :: atomic { forgets && faults > 0 && row.state == absent && row.fence > 0 ->
       faults--; row.fence = 0; forgotten = true }
  :: atomic { back && faults > 0 && row.lease > 0 -> faults--; untrusted = true; row.lease = row.lease + back }
  :: atomic { forward && faults > 0 && row.state != absent && !leapt ->
       faults--; untrusted = true; leapt = true; due = true;
       if :: row.lease > 1 -> row.lease = 1 :: else fi }
  od
}
