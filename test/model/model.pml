/* Settings and the choice of a mutant come from the environment, so that one build serves all runs. */
c_decl { static int setting(const char *name) { const char *text = getenv(name); return text == 0 ? 0 : atoi(text); } }
#include "record.pml"
#include "world.pml"
#include "attempts.pml"
