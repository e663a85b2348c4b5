/*
 * A handler whose writes and whose completion commit in one transaction, and the question whether a COMMIT landed.
 *
 * From its completion to its end a transaction has the record's row: every other verb waits for it. A COMMIT may be lost
 * with its connection (the server then rolls back, when it notices), or be under way for any while. `landed` waits for
 * the row, and says what it finds; it grants, renews and gives back nothing.
 */
c_decl { static int setting(const char *name) { const char *text = getenv(name); return text == 0 ? 0 : atoi(text); } }
#include "record.pml"

#define HOLD 1
#define RERUN 3

hidden byte route, later;
hidden byte calls;              /* the handler also calls a provider, outside of steps */
hidden mtype:outcomes result;
byte faults;
byte effects;                   /* at the provider */
byte writes;                    /* committed business writes */
byte answered;

byte rowOf;                     /* the attempt whose transaction has the row; 0: none */
byte rowFence;
bool committing;                /* its COMMIT is under way */
bool broken_off;                /* its connection is gone: the server will roll it back */
bool toldUndone[5];             /* by attempt: it was told that its transaction did not commit */
byte question, questionFence;   /* a late question that is a claim: only where a mutant makes it one */

#define FREE(me) (rowOf == 0 || rowOf == me)

inline next_life() { effects = 0; writes = 0; answered = 0 }

inline end_transaction() { rowOf = 0; rowFence = 0; committing = false; broken_off = false }

/* The row was locked with the fence compared: nothing can have changed since. */
inline commit(made) {
  complete(rowOf, rowFence, made, result);
  if
  :: result == ok ->
     assert(!toldUndone[rowOf]);
     if :: slip(WRITES_COMMIT_APART) -> skip :: else -> writes++ fi
  :: else
  fi;
  assert(writes <= 1);
  end_transaction()
}

proctype Server() {
  mtype:come_by origin;
  byte fence;
end:
  do
  :: atomic { committing -> commit(rowOf) }
  :: atomic { committing && faults > 0 -> faults--; end_transaction() }
  :: atomic { broken_off -> end_transaction() }
  :: atomic { question != 0 && FREE(question) ->
       claim(question, take_none, true, result, fence, origin);
       if
       :: result == granted -> release(question, fence, result)
       :: else
       fi;
       question = 0; questionFence = 0; fence = 0; origin = no_origin }
  :: atomic { row.lease > 1 || trueLease > 0 ->
       if :: row.lease > 1 -> row.lease-- :: else fi;
       if :: trueLease > 0 -> trueLease-- :: else fi }
  od
}

proctype Caller(byte p) {
  byte me, fence, tries;
  mtype:come_by origin;

next:
  atomic {
    fence = 0; origin = no_origin;
    if
    :: tries == (p == 0 -> 1 : later) -> goto done
    :: else -> tries++; me = p + tries
    fi
  }
claiming:
  atomic { FREE(me) ->
    claim(me, (route == HOLD -> take_none : take_lapsed), route == HOLD, result, fence, origin);
    if
    :: result == is_completed -> assert(answered == 0 || answered == row.answer); answered = row.answer; goto done
    :: result == granted && faults > 0 -> faults--; goto claiming                   /* the reply is lost */
    :: result == granted && !calls -> goto writing
    :: result == granted && calls -> skip
    :: else -> goto next
    fi
  }
  atomic { effects++; assert(effects <= 1) }
writing:
  atomic { FREE(me) ->
    if
    :: slip(WRITES_COMMIT_APART) -> writes++; assert(writes <= 1)
    :: else
    fi;
    if
    :: HOLDS(me, fence) || slip(COMMIT_UNFENCED) -> rowOf = me; rowFence = fence
    :: else -> goto next                                                            /* rolled back */
    fi
  }
  atomic {
    if
    :: slip(COMMIT_UNFENCED) && !HOLDS(me, fence) -> writes++; assert(writes <= 1); end_transaction(); goto next
    :: else -> commit(me); assert(result == ok); assert(answered == 0 || answered == me); answered = me; goto done
    :: faults > 0 -> faults--; commit(me)                                           /* the reply is lost */
    :: faults > 0 -> faults--; committing = true                                    /* it is late */
    :: faults > 0 -> faults--; broken_off = true                                    /* it never left */
    fi
  }
asking:
  if
  :: atomic { slip(LANDED_IS_A_CLAIM) && faults > 0 && question == 0 -> faults--; question = me; goto asking }
  :: atomic { rowOf != me || slip(LANDED_DOES_NOT_WAIT) ->
       remember();
       if
       :: row.state == completed && row.owner == me && row.fence == fence ->
          assert(answered == 0 || answered == me); answered = me; check_owner(no_verb, me); goto done
       :: else -> toldUndone[me] = true; check_owner(no_verb, me)
       fi }
  :: goto next                                                                      /* it cannot be told yet */
  fi;
  atomic { FREE(me) ->
    if
    :: route == HOLD -> suspend(me, fence, false, true, result)
    :: else -> release(me, fence, result)
    fi;
    goto next
  }
done:
  atomic { me = 0; fence = 0; origin = no_origin }
}

init {
  atomic {
    c_code {
      broken = setting("broken"); route = setting("route"); later = setting("later"); calls = setting("calls");
      now.faults = setting("faults");
    };
    row.state = absent; row.owner = NOBODY; row.origin = no_origin; row.step = unknown_step;
    run Server();
    run Caller(0);
    run Caller(1)
  }
}
