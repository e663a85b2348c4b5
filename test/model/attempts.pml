/*
 * Who uses the record: two callers, each with a process of its own, the first with one attempt and the second with `later`;
 * a reconciler; a person. A caller that is not scheduled any more is a process that stands still or died; one that goes
 * on after the clock has gone on is a zombie.
 */
#define IN_DOUBT (origin == of_lapsed || origin == of_suspended)
#define TRUSTED (trust[p] > 0)

/* The user's verify of the whole operation. It may always say that it cannot tell; otherwise it tells the truth. */
inline ask_provider() {
  if
  :: visible -> verdict = was_found
  :: effects == 0 -> verdict = was_absent
  :: verdict = not_visible_yet
  fi
}

/* The user's verify of a step: what the provider does not show is absent once it is older than the provider's lag. */
inline ask_about_step() {
  age = (lags -> (slip(AGE_OF_THE_FIRST_START) -> row.firstStart : row.lastStart) : AGED);
  if
  :: visible -> verdict = was_found
  :: !visible && age >= AGED -> verdict = was_absent
  :: verdict = not_visible_yet
  fi
}

proctype Caller(byte p) {
  byte me, fence, tries, made;
  bool asked, interim, hold;
  mtype:come_by origin;

next:
  atomic {
    trust[p] = 0; fence = 0; asked = false; interim = false; hold = false; origin = no_origin;
    if
    :: tries == (p == 0 -> 1 : later) -> goto done
    :: else -> tries++; me = p + tries; made = me
    fi
  }
claiming:
  atomic {
    /* By its own clock an attempt counts on its lease from the moment at which it first asks for it. */
    if
    :: !asked -> asked = true; trust[p] = LEASE
    :: else
    fi;
    choose_fate();
    if
    :: ARRIVES -> claim(me, TAKES, MARKED, result, fence, origin)
    :: else
    fi;
    post(v_claim, me, 0, TAKES);
    if
    :: ANSWERED ->
       if
       :: result == is_completed -> tell(row.answer); goto done
       :: result == granted -> skip
       :: else -> goto next
       fi
    :: else ->
       if
       :: goto claiming                                                 /* sent again, by the same owner */
       :: lateVerb == v_claim && lateMe == me -> lateGivesBack = true; goto next
       :: fate == reply_lost && result == granted -> goto giving_back   /* the answer came late */
       :: goto next
       fi
    fi
  }

  /* recover(): what a vanished owner left */
  atomic {
    if
    :: faults > 0 -> faults--; goto next                                /* crash */
    :: IN_DOUBT && route == VERIFY ->
       ask_provider();
       if
       :: verdict == was_found -> made = FOUND; goto storing
       :: verdict == not_visible_yet -> goto suspending
       :: verdict == was_absent -> goto handling
       fi
    :: !(IN_DOUBT && route == VERIFY) -> goto handle_now
    fi
  }

  /* the handler */
handling:
  atomic {
    skip;
handle_now:
    if
    :: !TRUSTED && !slip(LEASE_NOT_CHECKED) -> goto giving_back
    :: else
    fi;
    if
    :: !IN_DOUBT && row.step == unknown_step -> goto releasing          /* it declines: nothing was done */
    :: interim = true; goto suspending                                  /* ctx.unknown() */
    :: skip
    fi;
    /* step(): what former attempts left of it */
    if
    :: plain -> goto calling
    :: !plain && row.step == finished -> goto completing
    :: row.step == started && step == HOLD && !slip(STARTED_STEP_IS_CALLED) -> hold = true; goto suspending
    :: row.step == started && step == VERIFY ->
       ask_about_step();
       if
       :: verdict == was_found -> goto finishing
       :: verdict == not_visible_yet -> goto suspending
       :: verdict == was_absent -> goto starting
       fi
    :: else -> goto starting
    fi
  }
starting:
  atomic {
    if
    :: !TRUSTED && !slip(LEASE_NOT_CHECKED) -> goto next                /* the record is left as it is */
    :: else
    fi;
    choose_fate();
    if
    :: ARRIVES -> start_step(me, fence, result)
    :: else
    fi;
    post(v_start_step, me, fence, take_none);
    if
    :: ANSWERED && result == stale -> goto next
    :: ANSWERED && result == ok -> goto calling
    :: else ->
       if
       :: goto starting
       :: goto throwing
       fi
    fi
  }
calling:
  atomic {
    /* The last look before the call. That the call reaches the provider within the trusted time is assumed. */
    if
    :: !plain && !TRUSTED && !slip(LEASE_NOT_CHECKED) && !slip(TRUST_SINCE_THE_REPLY) -> goto next
    :: else
    fi;
    call_provider(me);
    if
    :: faults > 0 -> faults--; goto throwing                            /* what came of it is not known */
    :: faults > 0 -> faults--; goto next                                /* crash */
    :: plain -> goto completing
    :: !plain
    fi
  }
finishing:
  atomic {
    choose_fate();
    if
    :: ARRIVES -> finish_step(me, fence, result)
    :: else
    fi;
    post(v_finish_step, me, fence, take_none);
    if
    :: ANSWERED && result == stale -> goto next
    :: ANSWERED && result == ok -> goto completing
    :: else ->
       if
       :: goto finishing
       :: goto throwing
       fi
    fi
  }

completing:
  atomic {
    /* The heartbeat goes on for as long as the answer is not stored, whether or not the lease can be counted on. */
    if
    :: row.lease == 1 -> renew(me, fence, result)
    :: faults > 0 && lateVerb == no_verb -> faults--; fate = delayed; post(v_renew, me, fence, take_none)
    :: skip
    fi
  }
storing:
  atomic {
    choose_fate();
    if
    :: ARRIVES -> complete(me, fence, made, result); assert(result != ok || effects > 0)
    :: else
    fi;
    if
    :: made == me -> post(v_complete, me, fence, take_none)
    :: else
    fi;
    if
    :: ANSWERED && result == ok -> tell(made); goto done
    :: ANSWERED && result == stale -> goto next
    :: else ->
       if
       :: goto storing
       :: made == me -> goto next
       :: made == FOUND -> goto suspending
       fi
    fi
  }

throwing:
  /* Nobody knows what the handler did. */
  atomic {
    if
    :: route == HOLD -> hold = true; goto suspending
    :: route == VERIFY || (route == RERUN && row.step == started) -> goto suspending
    :: route == RERUN && row.step != started -> goto releasing
    fi
  }
giving_back:
  /* The handler never ran. What a vanished owner left open stays open. */
  atomic {
    if
    :: IN_DOUBT && !slip(GIVEN_BACK_BY_RELEASE) -> goto suspending
    :: else -> goto releasing
    fi
  }
suspending:
  atomic {
    choose_fate();
    if
    :: ARRIVES -> suspend(me, fence, interim, hold, result)
    :: else
    fi;
    if
    :: !interim -> post((hold -> v_hold : v_suspend), me, fence, take_none)
    :: else
    fi;
    goto next
  }
releasing:
  atomic {
    choose_fate();
    if
    :: ARRIVES -> release(me, fence, result)
    :: else
    fi;
    post(v_release, me, fence, take_none);
    goto next
  }
done:
  atomic { trust[p] = 0; me = 0; fence = 0; made = 0; asked = false; interim = false; hold = false; origin = no_origin }
}

/* Looks at a record in doubt, takes it under a fence, asks, ends its lease, decides. */
proctype Reconciler() {
  byte me, fence, made;
  bool asked;
  mtype:come_by origin;
  mtype:verdicts told;

next:
  atomic {
    fence = 0; asked = false; origin = no_origin; told = no_verdict;
    if
    :: made == looks -> goto done
    :: else -> made++; me = later + 1 + made
    fi
  }
end_looking:
  atomic { row.state == processing && !LIVE && !row.hold -> fence = row.fence }
claiming:
  atomic {
    if
    :: !asked && row.fence != fence -> goto next                        /* somebody was faster */
    :: else -> asked = true
    fi;
    choose_fate();
    if
    :: ARRIVES -> claim(me, take_open, false, result, fence, origin)
    :: else
    fi;
    post(v_claim, me, 0, take_open);
    if
    :: ANSWERED && result != granted -> goto next
    :: ANSWERED && result == granted -> skip
    :: else ->
       if
       :: goto claiming
       :: goto next
       fi
    fi
  }
  atomic {
    if
    :: IN_DOUBT -> ask_provider(); told = verdict
    :: else -> release(me, fence, result); goto next                    /* nothing is left to find out */
    fi
  }
  atomic {
    choose_fate();
    if
    :: ARRIVES && !slip(RECONCILER_RELEASES) -> suspend(me, fence, false, false, result)
    :: ARRIVES && slip(RECONCILER_RELEASES) -> release(me, fence, result)
    :: else
    fi;
    post(v_suspend, me, fence, take_none);
    if
    :: ANSWERED && result == ok -> skip
    :: else -> goto next
    fi
  }
settling:
  atomic {
    choose_fate();
    if
    :: told == was_found ->
       if
       :: ARRIVES -> settle(me, fence, v_adopt, FOUND, result)
       :: else
       fi;
       post(v_adopt, me, fence, take_none)
    :: told == was_absent ->
       if
       :: ARRIVES -> settle(me, fence, v_give_back, 0, result)
       :: else
       fi;
       post(v_give_back, me, fence, take_none)
    :: told == not_visible_yet && ARRIVES -> settle(me, fence, v_hold, 0, result)    /* it gives up */
    :: told == not_visible_yet
    fi;
    if
    :: !ANSWERED -> goto settling
    :: goto next
    fi
  }
done:
  atomic { me = 0; fence = 0; asked = false; origin = no_origin; told = no_verdict }
}

/* Looks, and decides on the fence that was looked at: by what the provider's own people say, which is the truth. */
proctype Person() {
  byte fence, made;
  mtype:verbs decision;

next:
  atomic {
    fence = 0; decision = no_verb;
    if
    :: made == decisions -> goto done
    :: else -> made++
    fi
  }
end_looking:
  atomic { row.state == processing && !LIVE -> fence = row.fence }
deciding:
  atomic {
    if
    :: decision == no_verb && effects > 0 -> decision = v_adopt
    :: decision == no_verb && effects == 0 && !plain -> decision = v_give_back
    :: decision == no_verb -> decision = v_hold
    :: decision != no_verb
    fi;
    choose_fate();
    if
    :: ARRIVES -> settle(PERSON, fence, decision, FOUND, result)
    :: else
    fi;
    if
    :: decision != v_hold -> post(decision, PERSON, fence, take_none)
    :: else
    fi;
    if
    :: !ANSWERED -> goto deciding
    :: goto next
    fi
  }
done:
  atomic { fence = 0; decision = no_verb }
}

init {
  atomic {
    c_code {
      broken = setting("broken"); route = setting("route"); step = setting("step"); later = setting("later");
      looks = setting("looks"); decisions = setting("decisions"); plain = setting("plain"); lags = setting("lags");
      honours = setting("honours"); retention = setting("retention"); forgets = setting("forgets");
      back = setting("back"); forward = setting("forward"); standstill = setting("standstill");
      now.faults = setting("faults");
    };
    row.state = absent; row.owner = NOBODY; row.origin = no_origin; row.step = unknown_step;
    run Clock();
    run Network();
    if :: looks > 0 -> run Reconciler() :: else fi;
    if :: decisions > 0 -> run Person() :: else fi;
    run Caller(0);
    run Caller(1)
  }
}
