/*
 * The record: its fields, its verbs, and what must be true after each of them.
 *
 * Each verb is one step that cannot be divided, as in a store. `was` is the record before the step; `check` compares the two, so that a
 * rule that is broken is seen at the step that breaks it and not only where it ends in a second effect.
 *
 * rule(NAME, condition) is the condition, and slip(NAME) is false, unless the setting `broken` names that mutant: then the
 * rule always holds, and the slip is true. Names and numbers of mutants are given by `npm run model`.
 */
hidden byte broken;
#define rule(name, condition) (broken == name || (condition))
#define slip(name) (broken == name)

/* Leases are counted in ticks. The longest one that may be asked for is the one that is asked for. */
#ifndef LEASE
#define LEASE 1
#endif

mtype:states = { absent, processing, completed, failed };
mtype:come_by = { no_origin, of_new, of_failed, of_lapsed, of_suspended };
mtype:stepstate = { unknown_step, started, finished };
mtype:takeovers = { take_none, take_lapsed, take_open };
mtype:outcomes = { no_outcome, granted, is_completed, is_processing, is_unknown, ok, stale, live, failure };
mtype:verbs = { no_verb, v_claim, v_renew, v_complete, v_release, v_suspend, v_hold, v_start_step, v_finish_step,
               v_adopt, v_give_back, v_sweep };

#define NOBODY 255
#define PERSON 254

typedef Row {
  mtype:states state;
  byte owner;
  byte fence;             /* of an absent record: the floor below which no new fence may be */
  byte lease;             /* 0: ended; 1: lapsed; 1 + n: n ticks left by the store's clock */
  bool interim;
  bool hold;
  bool doubt;             /* told by the first claim: a doubt outlives retention */
  mtype:come_by origin;    /* how the present owner came by it */
  mtype:stepstate step;   /* the one step of the handler */
  byte firstStart;        /* ticks since, at most AGED */
  byte lastStart;
  byte answer
}
Row row;
hidden Row was;
hidden byte reborn;

bool due;                 /* retention is over */
bool untrusted;           /* the ticks of the store's clock were uneven: nothing expires */

/* What no store knows. */
byte holder;              /* the attempt to which the record was last granted */
byte trueLease;           /* ticks left of the lease by a clock that never jumps */
bool leapt;               /* the store's clock went forward by itself: leases lapsed under living owners */
bool trulyDue;            /* retention is over by a clock that never jumps */
bool forgotten;           /* the store's clock went back by more than the record's age while nobody remembered its fence */

#define LEFT (row.lease - 1)
#define LIVE (row.state == processing && row.lease > 1 && LEFT <= 2 * LEASE && (!slip(ABSURD_BEYOND_ONCE) || LEFT <= LEASE))
#define SEALED (row.interim || row.hold)
#define NEEDED ((row.state == processing && rule_needed) || (row.state == failed && row.step == started))
#define rule_needed ((row.doubt && !slip(RETENTION_ENDS_A_DOUBT)) || SEALED || row.step != unknown_step)
#define EXPIRED (due && (!untrusted || slip(EXPIRY_UNGUARDED)) && !NEEDED && (!LIVE || slip(EXPIRY_UNDER_AN_OWNER)))
#define HOLDS(who, at) (row.state == processing && rule(OWNER_COMPARED, row.owner == who) && rule(FENCE_COMPARED, row.fence == at))

inline remember() {
  was.state = row.state; was.owner = row.owner; was.fence = row.fence; was.lease = row.lease; was.interim = row.interim;
  was.hold = row.hold; was.doubt = row.doubt; was.origin = row.origin; was.step = row.step;
  was.firstStart = row.firstStart; was.lastStart = row.lastStart; was.answer = row.answer; reborn = false
}

#define CHANGED (row.state != was.state || row.owner != was.owner || row.fence != was.fence || row.lease != was.lease || \
  row.interim != was.interim || row.hold != was.hold || row.origin != was.origin || row.step != was.step || \
  row.lastStart != was.lastStart || row.answer != was.answer)

/* `what` by `who`, an attempt, or by a person (who = PERSON). */
inline check(what, who) {
  if
  :: row.state != processing || row.lease == 0 -> trueLease = 0
  :: else
  fi;
  /* A completed record never changes, until it expires. */
  assert(was.state != completed || reborn || !CHANGED);
  /* A hold ends only by a person, or by the answer of the owner that it was put on. */
  assert(!was.hold || reborn || row.hold || who == PERSON || (what == v_complete && holder == who));
  assert(!was.hold || reborn || row.fence == was.fence || who == PERSON);
  /* A record on hold has no living owner. */
  assert(row.state != processing || !row.hold || row.lease == 0);
  /* An ended lease stays ended: only a grant gives a new one. */
  assert(was.state != processing || was.lease != 0 || reborn || row.state != processing || row.lease == 0 || what == v_claim);
  /* A finished step stays; a started one goes only by a decision that it did not happen. */
  assert(was.step != finished || reborn || row.step == finished);
  assert(was.step != started || reborn || row.step != unknown_step || what == v_give_back);
  /* Fences grow over owners. */
  assert(row.fence >= was.fence || forgotten);
  assert(row.fence > was.fence || row.owner == was.owner || row.state == absent || forgotten)
}

/* A zombie changes nothing. */
inline check_owner(what, who) {
  assert(!CHANGED || holder == who);
  check(what, who)
}

inline give_lease() { row.lease = 1 + LEASE; trueLease = LEASE }

inline clear_marks() { row.interim = false; row.hold = false }

inline grant(who, how, marked, out) {
  /* One owner at a time, by any clock that does not leap. */
  assert(trueLease == 0 || leapt);
  if
  :: slip(FENCE_STAYS) -> skip
  :: else -> row.fence++
  fi;
  row.owner = who; row.doubt = row.doubt || marked; give_lease(); row.state = processing; row.origin = how; holder = who; out = granted
}

/* claim(): absent and expired; completed; failed; sent again; live; sealed; lapsed. In this order. */
inline claim(who, take, marked, out, gotFence, gotOrigin) {
  d_step {
    remember();
    gotOrigin = no_origin;
    if
    :: row.state == absent || EXPIRED ->
       expire();
       grant(who, of_new, marked, out)
    :: else ->
       if
       :: row.state == completed -> out = is_completed
       :: row.state == failed -> grant(who, of_failed, marked, out)
       :: row.state == processing && row.owner == who && (LIVE || !SEALED || slip(RESENT_AFTER_SEAL)) ->
          give_lease(); holder = who; out = granted
       :: row.state == processing && !(row.owner == who && (LIVE || !SEALED || slip(RESENT_AFTER_SEAL))) && LIVE &&
          !slip(LIVE_IS_TAKEN) -> out = is_processing
       :: else ->
          if
          :: SEALED && take == take_open && (!row.hold || slip(HOLD_IS_TAKEN)) -> grant(who, of_suspended, marked, out)
          :: SEALED && !(take == take_open && (!row.hold || slip(HOLD_IS_TAKEN))) -> out = is_unknown
          :: !SEALED && take == take_none && !slip(NONE_TAKES_LAPSED) -> out = is_unknown
          :: else -> grant(who, of_lapsed, marked, out)
          fi
       fi
    fi;
    if
    :: out == granted ->
       gotFence = row.fence;
       if
       :: slip(ORIGIN_FORGOTTEN) && was.owner == who && was.state == processing -> gotOrigin = of_new
       :: else -> gotOrigin = row.origin
       fi
    :: else
    fi;
    check(v_claim, who)
  }
}

/* What is left of an expired record is its fence. The next life may have its own effect. */
inline expire() {
  if
  :: row.state != absent ->
     /* A doubt never ends by retention, and no record under a living owner; no answer ends before its time. */
     assert(row.state != processing || !row.doubt);
     assert(trueLease == 0 || leapt);
     assert(trulyDue);
     row.state = absent; row.owner = NOBODY; row.lease = 0; row.interim = false; row.hold = false; row.doubt = false;
     row.origin = no_origin; row.step = unknown_step; row.firstStart = 0; row.lastStart = 0; row.answer = 0;
     reborn = true; holder = NOBODY; trulyDue = false; due = false; next_life()
  :: else
  fi
}

inline sweep() {
  d_step {
    remember();
    if
    :: row.state != absent && EXPIRED -> expire()
    :: else
    fi;
    check(v_sweep, NOBODY)
  }
}

inline renew(who, at, out) {
  d_step {
    remember();
    if
    :: HOLDS(who, at) ->
       if
       :: row.lease == 0 && !slip(RENEWAL_REVIVES) -> skip
       :: else -> give_lease()
       fi;
       out = ok
    :: else -> out = stale
    fi;
    check_owner(v_renew, who)
  }
}

inline complete(who, at, made, out) {
  d_step {
    remember();
    if
    :: row.state == completed && row.owner == who && row.fence == at && !slip(COMPLETED_CHANGES) -> out = ok
    :: HOLDS(who, at) || (slip(COMPLETED_CHANGES) && row.state == completed) ||
       (slip(ZOMBIE_COMPLETES) && row.state == processing) ->
       row.state = completed; row.answer = made; clear_marks(); out = ok
    :: else -> out = stale
    fi;
    check_owner(v_complete, who)
  }
}

/* On hold the owner can bring an answer, and nothing else: only its lease ends. */
inline release(who, at, out) {
  d_step {
    remember();
    if
    :: HOLDS(who, at) ->
       if
       :: row.hold && !slip(RELEASE_ENDS_A_HOLD) -> row.lease = 0
       :: else -> row.state = failed; clear_marks()
       fi;
       out = ok
    :: else -> out = stale
    fi;
    check_owner(v_release, who)
  }
}

inline suspend(who, at, withInterim, withHold, out) {
  d_step {
    remember();
    if
    :: HOLDS(who, at) ->
       row.lease = 0; row.interim = row.interim || withInterim; row.hold = row.hold || withHold; out = ok
    :: else -> out = stale
    fi;
    check_owner(v_suspend, who)
  }
}

inline lease_of_step() {
  if
  :: row.lease == 0 -> skip
  :: else -> give_lease()
  fi
}

inline start_step(who, at, out) {
  d_step {
    remember();
    if
    :: HOLDS(who, at) || (slip(STEP_UNFENCED) && row.state == processing) ->
       if
       :: row.step == unknown_step -> row.step = started; row.firstStart = 0
       :: else
       fi;
       row.lastStart = 0;
       lease_of_step(); out = ok
    :: else -> out = stale
    fi;
    check_owner(v_start_step, who)
  }
}

inline finish_step(who, at, out) {
  d_step {
    remember();
    if
    :: HOLDS(who, at) -> row.step = finished; lease_of_step(); out = ok
    :: else -> out = stale
    fi;
    check_owner(v_finish_step, who)
  }
}

/*
 * settle(): decision v_adopt, v_give_back (release) or v_hold, on the fence that was looked at. In the name of a policy
 * (`who` is an attempt) it leaves a hold alone: whoever holds has decided that a person decides.
 */
inline settle(who, at, decision, made, out) {
  d_step {
    remember();
    if
    :: row.state == absent -> out = stale
    :: row.state == completed -> out = is_completed
    :: row.state != absent && row.state != completed && row.fence != at && !slip(SETTLE_UNFENCED) -> out = stale
    :: row.state == processing && row.hold && who != PERSON && !slip(POLICY_SETTLES_A_HOLD) &&
       (row.fence == at || slip(SETTLE_UNFENCED)) -> out = stale
    :: else ->
       if
       :: LIVE && !slip(SETTLE_UNDER_AN_OWNER) -> out = live
       :: else ->
          assert(trueLease == 0 || leapt);
          assert(row.fence == at);
          if
          :: decision == v_hold -> row.state = processing; row.lease = 0; row.hold = true
          :: decision == v_adopt ->
             row.owner = NOBODY; row.fence++; holder = NOBODY; row.state = completed; row.answer = made; clear_marks()
          :: decision == v_give_back ->
             row.owner = NOBODY; row.fence++; holder = NOBODY; row.state = failed; clear_marks();
             if
             :: row.step == started && !slip(RELEASE_KEEPS_STARTED_STEPS) -> row.step = unknown_step
             :: else
             fi;
             /* What was decided not to have happened does not stop the next attempt. */
             assert(row.step != started)
          fi;
          out = ok
       fi
    fi;
    check(decision, who)
  }
}
